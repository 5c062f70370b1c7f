/** The three controllers with the embedded API server; the test plays all other components. */

import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  type EndpointSlice,
  isNotFound,
  NODES,
  PODS,
  SERVICES,
  type Service,
} from '@tidegate/kube';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestCluster } from '../workloads/testing/test-cluster.ts';
import { endpointSliceController, endpointSliceMirroringController, endpointsController } from './index.ts';
import { endpoints, node } from './testing.ts';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start([
    endpointSliceController,
    endpointsController,
    endpointSliceMirroringController,
  ]);
  await cluster.create(NODES, node('n1', { 'topology.kubernetes.io/zone': 'z1' }));
});
afterAll(() => cluster.stop());

async function makeService(name: string, spec: NonNullable<Service['spec']>): Promise<Service> {
  return cluster.create(SERVICES, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels: { tier: 'front' } },
    spec: { ports: [{ port: 80, targetPort: 8080 }], ...spec },
  });
}

/** A pod of `app` with the status that its kubelet reports. */
async function makePod(app: string, name: string, podIP: string): Promise<void> {
  const pod = await cluster.create(PODS, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app } },
    spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
  });
  await cluster.report(pod, { podIP, podIPs: [{ ip: podIP }] });
  await cluster.reportReady(pod);
}

const slicesOf = async (service: string): Promise<EndpointSlice[]> =>
  (
    await cluster.client.list(ENDPOINT_SLICES, {
      namespace: 'default',
      labelSelector: `kubernetes.io/service-name=${service}`,
    })
  ).items;

/** `address readiness` of all endpoints in all slices. */
const seen = async (service: string): Promise<string> =>
  (await slicesOf(service))
    .flatMap((slice) => slice.endpoints ?? [])
    .map(({ addresses, conditions }) => `${addresses[0]} ${conditions?.ready}`)
    .sort()
    .join(', ');
const see = (service: string, wanted: string) =>
  cluster.eventually(`${service}: ${wanted}`, async () => (await seen(service)) === wanted);

test('follows the pods of a Service', async () => {
  const service = await makeService('web', { selector: { app: 'web' } });
  await cluster.eventually('an empty slice', async () => (await slicesOf('web')).length === 1);
  await Promise.all([makePod('web', 'w1', '127.64.1.2'), makePod('web', 'w2', '127.64.1.3')]);
  await see('web', '127.64.1.2 true, 127.64.1.3 true');

  const slices = await slicesOf('web');
  expect(slices).toHaveLength(1);
  expect(slices[0]).toMatchObject({
    metadata: {
      labels: {
        tier: 'front',
        'kubernetes.io/service-name': 'web',
        'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
      },
      ownerReferences: [{ kind: 'Service', name: 'web', uid: service.metadata.uid }],
      annotations: { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' },
    },
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
  });
  expect(slices[0]?.endpoints[0]).toMatchObject({ nodeName: 'n1', zone: 'z1', targetRef: { kind: 'Pod' } });

  const w1 = await cluster.get(PODS, 'w1');
  const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-02T00:00:00Z' }];
  await cluster.report(w1, { conditions });
  await see('web', '127.64.1.2 false, 127.64.1.3 true');
  await cluster.eventually('the Endpoints object', async () => {
    const { subsets = [] } = await cluster.get(ENDPOINTS, 'web');
    return (
      subsets[0]?.addresses?.[0]?.ip === '127.64.1.3' &&
      subsets[0]?.notReadyAddresses?.[0]?.ip === '127.64.1.2'
    );
  });
});

test('writes nothing for changes that are not visible in endpoints', async () => {
  await makeService('calm', { selector: { app: 'calm' } });
  await makePod('calm', 'c1', '127.64.1.4');
  await see('calm', '127.64.1.4 true');
  const [before] = await slicesOf('calm');
  await cluster.report(await cluster.get(PODS, 'c1'), { message: 'not visible in endpoints' });
  // Writes are in order: when this later change is visible, the earlier one would be too.
  await makePod('web', 'w3', '127.64.1.5');
  await see('web', '127.64.1.2 false, 127.64.1.3 true, 127.64.1.5 true');
  expect((await slicesOf('calm'))[0]?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
});

test('follows the zone of the node', async () => {
  await cluster.client.patch(NODES, { name: 'n1' }, 'merge', {
    metadata: { labels: { 'topology.kubernetes.io/zone': 'z2' } },
  });
  await cluster.eventually('the new zone', async () => {
    const [slice] = await slicesOf('calm');
    return slice?.endpoints[0]?.zone === 'z2';
  });
});

test('fills slices when many pods appear at once', async () => {
  await makeService('many', { selector: { app: 'many' } });
  await Promise.all(Array.from({ length: 130 }, (_, i) => makePod('many', `m${i}`, `127.64.2.${i + 2}`)));
  await cluster.eventually('all of them', async () => (await seen('many')).split(', ').length === 130);
  const sizes = (await slicesOf('many')).map(({ endpoints }) => endpoints.length);
  expect(sizes.sort((a, b) => b - a)).toEqual([100, 30]);
});

test('removes the endpoints of a deleted Service', async () => {
  await cluster.client.delete(SERVICES, { namespace: 'default', name: 'calm' });
  await cluster.eventually('the slices are gone', async () => (await slicesOf('calm')).length === 0);
  await cluster.eventually('the Endpoints are gone', () =>
    cluster.get(ENDPOINTS, 'calm').then(() => false, isNotFound),
  );
});

test('mirrors Endpoints that users write, and does not change them', async () => {
  await makeService('outside', {});
  const { subsets } = await cluster.create(
    ENDPOINTS,
    endpoints(
      [{ addresses: [{ ip: '10.1.2.3' }], notReadyAddresses: [{ ip: '10.1.2.4' }], ports: [{ port: 443 }] }],
      {
        name: 'outside',
        namespace: undefined,
        uid: undefined,
        labels: { by: 'hand' },
      },
    ),
  );
  await see('outside', '10.1.2.3 true, 10.1.2.4 false');
  const [slice] = await slicesOf('outside');
  expect(slice).toMatchObject({
    metadata: {
      labels: {
        by: 'hand',
        'kubernetes.io/service-name': 'outside',
        'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
      },
      ownerReferences: [{ kind: 'Endpoints', name: 'outside' }],
    },
    ports: [{ name: '', port: 443, protocol: 'TCP' }],
  });
  const target = { namespace: 'default', name: 'outside' };
  await cluster.client.patch(ENDPOINTS, target, 'merge', {
    subsets: [{ ...subsets?.[0], notReadyAddresses: null }],
  });
  await see('outside', '10.1.2.3 true');
  await cluster.client.patch(ENDPOINTS, target, 'merge', {
    metadata: { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } },
  });
  await cluster.eventually('no mirror', async () => (await slicesOf('outside')).length === 0);
});
