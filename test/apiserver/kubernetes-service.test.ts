/** The Service through which programs in the cluster find the server. */

import { ENDPOINT_SLICES, ENDPOINTS, KubeClient, loadConfig, SERVICES } from '@tidegate/kube';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Embedded, startEmbedded } from '../support/embedded.ts';
import { PATIENCE_MS } from '../support/patience.ts';

let embedded: Embedded;
let client: KubeClient;
beforeAll(async () => {
  embedded = await startEmbedded();
  client = new KubeClient(await loadConfig({ env: {}, path: embedded.kubeconfig }));
});
afterAll(async () => {
  await client.close();
  await embedded.stop();
});

const kubernetes = { namespace: 'default', name: 'kubernetes' };

test('exists from the start with the address of the server', async () => {
  const port = Number(new URL(embedded.url).port);
  const service = await client.get(SERVICES, kubernetes);
  expect(service.metadata.labels).toEqual({ component: 'apiserver', provider: 'kubernetes' });
  expect(service.spec).toEqual({
    clusterIP: '10.96.0.1',
    clusterIPs: ['10.96.0.1'],
    internalTrafficPolicy: 'Cluster',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
    ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: port }],
    sessionAffinity: 'None',
    type: 'ClusterIP',
  });
  const endpoints = await client.get(ENDPOINTS, kubernetes);
  expect(endpoints.metadata.labels).toEqual({ 'endpointslice.kubernetes.io/skip-mirror': 'true' });
  expect(endpoints.subsets).toEqual([
    { addresses: [{ ip: '127.0.0.1' }], ports: [{ name: 'https', port, protocol: 'TCP' }] },
  ]);
  expect(await client.get(ENDPOINT_SLICES, kubernetes)).toMatchObject({
    metadata: { labels: { 'kubernetes.io/service-name': 'kubernetes' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
    ports: [{ name: 'https', port, protocol: 'TCP' }],
  });
});

test('is restored after a change', async () => {
  await client.patch(ENDPOINT_SLICES, kubernetes, 'merge', { endpoints: [] });
  await client.delete(ENDPOINTS, kubernetes);
  await client.delete(SERVICES, kubernetes);
  await vi.waitFor(async () => {
    expect((await client.get(SERVICES, kubernetes)).spec?.clusterIP).toBe('10.96.0.1');
    expect((await client.get(ENDPOINTS, kubernetes)).subsets).toHaveLength(1);
    expect((await client.get(ENDPOINT_SLICES, kubernetes)).endpoints).toHaveLength(1);
  }, PATIENCE_MS);
});
