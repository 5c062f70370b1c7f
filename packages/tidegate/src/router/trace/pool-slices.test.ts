import type { EndpointSlice } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { PoolSlices } from './pool-slices.ts';

/** As API servers before Kubernetes 1.21 have it: the node of an endpoint is in its topology. */
const SLICE = {
  apiVersion: 'discovery.k8s.io/v1beta1',
  kind: 'EndpointSlice',
  metadata: { name: 'web', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  ports: [{ port: 8080 }],
  endpoints: ['node-a', 'node-b'].map((node, i) => ({
    addresses: [`10.1.0.${i}`],
    topology: { 'kubernetes.io/hostname': node },
  })),
} as unknown as EndpointSlice;

const node = (name: string, pool: string) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'apps.openyurt.io/nodepool': pool } },
});

it('finds the pools of endpoints in slices of v1beta1', () => {
  const pool = (name: string) => ({
    apiVersion: 'apps.openyurt.io/v1beta2',
    kind: 'NodePool',
    metadata: { name },
    spec: {},
  });
  const slices = new PoolSlices(
    {
      services: [{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default' } }],
      slices: [SLICE],
      nodes: [node('node-a', 'paris'), node('node-b', 'rome')],
      nodePools: [pool('paris'), pool('rome')],
      nodeGroups: [],
    },
    'paris',
  );
  const seen = slices.checked('default/web').map(({ visibility }) => visibility);
  expect(seen).toMatchObject([{ visible: true }, { visible: false, reason: 'OtherPool' }]);
});
