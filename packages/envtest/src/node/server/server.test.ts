import { randomInt, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  Informer,
  type KubeClient,
  NODES,
  type Node,
  PODS,
  type Pod,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { ContainerStatus, NodePods } from '../contracts.ts';
import { FileLogs } from '../logs/index.ts';
import { named, startTestCluster, type TestCluster } from '../testing/cluster.ts';
import { type KubeletServer, startKubeletServer } from './server.ts';

/** Each run uses other addresses, so that concurrent runs do not conflict. */
const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;
const ADDRESS = `${RANGE}.5`;
const PORT = 20250;
let cluster: TestCluster;
let client: KubeClient;
let logs: FileLogs;
let pod: Pod;
let server: KubeletServer | undefined;
const stop = new AbortController();
let approving: Promise<void>;

beforeAll(async () => {
  cluster = await startTestCluster();
  client = await cluster.node('node-a');
  approving = approveAll(cluster.admin);
  logs = new FileLogs({ clock: systemClock, log: silentLogger });
  const { metadata, ...rest } = named('Node', 'node-a');
  const node = await cluster.admin.create<Node>(NODES, { ...rest, metadata: { name: metadata.name! } });
  const status = {
    addresses: [{ type: 'InternalIP', address: ADDRESS }],
    daemonEndpoints: { kubeletEndpoint: { Port: PORT } },
  };
  await cluster.admin.update<Node>(NODES, { ...node, status }, { subresource: 'status' });
  pod = await cluster.admin.create<Pod>(
    PODS,
    named('Pod', 'web', { spec: { nodeName: 'node-a', containers: [{ name: 'main', image: 'x' }] } }),
  );
});

afterEach(async () => {
  await server?.close();
  server = undefined;
});

afterAll(async () => {
  stop.abort();
  await approving;
  await logs.close();
  await cluster.stop();
});

/** Approves certificate requests like an administrator. */
function approveAll(admin: KubeClient): Promise<void> {
  const requests = new Informer(admin, CERTIFICATE_SIGNING_REQUESTS);
  requests.addHandler({
    onAdd: (csr) => {
      const approved = { type: 'Approved', status: 'True', reason: 'Test', message: '' };
      const wanted = { ...csr, status: { ...csr.status, conditions: [approved] } };
      void admin.update(CERTIFICATE_SIGNING_REQUESTS, wanted, { subresource: 'approval' });
    },
  });
  return requests.run(stop.signal);
}

const RUNNING: Partial<ContainerStatus> = { state: { running: { startedAt: '2026-01-01T00:00:00Z' } } };

async function start(status: Partial<ContainerStatus> = RUNNING): Promise<void> {
  const main = { name: 'main', image: 'x', imageID: '', ready: true, restartCount: 0, ...status };
  const known: Pod = { ...pod, status: { ...pod.status, containerStatuses: [main] } };
  const pods: NodePods = {
    list: () => [known],
    find: (namespace, name) =>
      namespace === 'default' && name === 'web'
        ? { pod: known, place: cluster.placeOf(pod.metadata.uid!) }
        : undefined,
    inside: () => undefined,
  };
  server = await startKubeletServer({
    client,
    nodeName: 'node-a',
    address: ADDRESS,
    port: PORT,
    directory: join(cluster.directory, 'node-a'),
    pods,
    logs,
    log: silentLogger,
  });
  // Until the certificate is available, every handshake fails.
  await expect.poll(() => ask('/healthz').catch(() => undefined)).toMatchObject({ code: 200 });
}

interface Answer {
  code: number | undefined;
  text: string;
  fingerprint: string;
}

async function ask(
  path: string,
  pair: { certificate?: string; key?: string } = cluster.server.pki.kubeletClient,
  method = 'GET',
): Promise<Answer> {
  const call = request({
    host: ADDRESS,
    port: PORT,
    path,
    method,
    ca: cluster.server.pki.ca,
    cert: pair.certificate,
    key: pair.key,
    agent: false,
  });
  call.end();
  const [response] = await once(call, 'response');
  const fingerprint = response.socket.getPeerCertificate().fingerprint256;
  let text = '';
  for await (const chunk of response) text += chunk;
  return { code: response.statusCode, text, fingerprint };
}

const viaApi = (query: string): Promise<string> =>
  cluster.admin.text(`/api/v1/namespaces/default/pods/web/log${query}`);

describe("the kubelet's server", () => {
  test('sends logs to the API server, and through it to other clients', async () => {
    await start();
    const place = cluster.placeOf(pod.metadata.uid!).container('main');
    const output = await logs.outputFor(place, 0);
    writeSync(output.fd, 'one\ntwo\n');
    expect(await viaApi('')).toBe('one\ntwo\n');
    expect(await viaApi('?tailLines=1')).toBe('two\n');
    expect(await viaApi('?timestamps=true&limitBytes=4')).toMatch(/^\d{4}$/);
    const following = viaApi('?follow=true');
    writeSync(output.fd, 'three\n');
    await logs.ended(place);
    expect(await following).toBe('one\ntwo\nthree\n');
    await output.close();
  });

  test.each<[string, string, Partial<ContainerStatus>, number, string]>([
    ['no such pod', '/containerLogs/default/none/main', RUNNING, 404, 'pod "none" does not exist'],
    [
      'no such container',
      '/containerLogs/default/web/none',
      RUNNING,
      400,
      'container "none" in pod "web" is not available',
    ],
    [
      'never started',
      '/containerLogs/default/web/main',
      { state: { waiting: { reason: 'ContainerCreating' } } },
      400,
      'container "main" in pod "web" is waiting to start: ContainerCreating',
    ],
    [
      'never restarted',
      '/containerLogs/default/web/main?previous=true',
      RUNNING,
      400,
      'previous terminated container "main" in pod "web" not found',
    ],
    [
      'not a number',
      '/containerLogs/default/web/main?tailLines=x',
      RUNNING,
      400,
      'tailLines must be a whole number',
    ],
    ['elsewhere', '/configz', RUNNING, 404, '/configz not found'],
  ])('reports why a log is not available: %s', async (_case, path, status, code, text) => {
    await start(status);
    const answer = await ask(path);
    expect(answer.code).toBe(code);
    expect(answer.text).toContain(text);
  });

  test('rejects exec without an upgrade of the connection', async () => {
    await start();
    expect(await ask('/exec/default/web/main?command=ls', undefined, 'POST')).toMatchObject({
      code: 400,
      text: 'Upgrade request required',
    });
  });

  test('lists its pods and counts them', async () => {
    await start();
    expect(JSON.parse((await ask('/pods')).text)).toMatchObject({
      kind: 'PodList',
      items: [{ metadata: { name: 'web' } }],
    });
    expect((await ask('/metrics')).text).toContain(
      'kubelet_running_containers{container_state="running"} 1\n',
    );
  });

  test('rejects other clients', async () => {
    await start();
    expect(await ask('/pods', {})).toMatchObject({ code: 401 });
    expect(await ask('/pods', cluster.server.pki.admin)).toMatchObject({ code: 403 });
  });

  test('keeps its certificate for the next start', async () => {
    await start();
    const { fingerprint } = await ask('/healthz');
    await server?.close();
    await start();
    expect((await ask('/healthz')).fingerprint).toBe(fingerprint);
    expect(new X509Certificate(cluster.server.pki.ca).fingerprint256).not.toBe(fingerprint);
  });
});
