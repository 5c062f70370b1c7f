import { KubeClient, silentLogger } from '@tidegate/kube';
import { answerJson, FakeServer, VirtualClock } from '@tidegate/kube/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { endpointSlices } from './endpoint-slices.ts';

const clock = new VirtualClock();
const server = new FakeServer();
let client: KubeClient;
beforeEach(async () => {
  client = new KubeClient(await server.start(), { maxRetries: 0 });
});
afterEach(async () => {
  await client.close();
  await server.stop();
});

it('uses the API version that the cluster serves, after discovery succeeds', async () => {
  const groupVersion = 'discovery.k8s.io/v1beta1';
  const resources = [{ name: 'endpointslices', kind: 'EndpointSlice', namespaced: true, verbs: [] }];
  server.intercept = ({ url }, response) => {
    if (url.pathname === '/api') return answerJson(response, { kind: 'APIVersions', versions: [] });
    if (url.pathname === '/apis')
      return answerJson(response, { kind: 'APIGroupList', groups: [{ versions: [{ groupVersion }] }] });
    return answerJson(response, { kind: 'APIResourceList', groupVersion, resources });
  };
  server.failNext({ code: 500 });
  server.failNext({ code: 500 });
  const { signal } = new AbortController();
  const asking = endpointSlices({ client, clock, random: () => 0, log: silentLogger }, signal);
  await expect.poll(() => clock.pending).toBe(1);
  await clock.advance(5_000);
  expect(await asking).toMatchObject({ group: 'discovery.k8s.io', version: 'v1beta1' });
});
