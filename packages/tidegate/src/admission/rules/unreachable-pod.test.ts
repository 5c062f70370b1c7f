import type { Lease, Node, Pod } from '@tidegate/kube';
import { expect, it } from 'vitest';
import type { NodePool } from '../../api/index.ts';
import { Membership } from '../../pools/index.ts';
import type { AdmissionRequest } from '../review.ts';
import { unreachablePodDeletionRule } from './unreachable-pod.ts';

const NODE_CONTROLLER = 'system:serviceaccount:kube-system:node-controller';
const READY_AT: Record<string, number> = { p1: 100, p2: 100, r1: 100, r2: 300 };

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

const node = (name: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'apps.openyurt.io/nodepool': name.startsWith('p') ? 'paris' : 'rome' } },
  status: { conditions: [{ type: 'Ready', status: name === 'r2' ? 'True' : 'Unknown' }] },
});

const lease = (name: string): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { managedFields: [{ time: at(READY_AT[name] ?? 0) }] },
  spec: { leaseDurationSeconds: 40, renewTime: at(READY_AT[name] ?? 0) },
});

function rule(autonomy?: string) {
  const membership = new Membership();
  const pools = new Map<string, NodePool>();
  const nodes = new Map(Object.keys(READY_AT).map((name) => [name, node(name)]));
  for (const name of ['paris', 'rome']) {
    const object = {
      apiVersion: 'apps.openyurt.io/v1beta2',
      kind: 'NodePool',
      metadata: { name },
      spec: { autonomy },
    };
    pools.set(name, object as NodePool);
    membership.apply({ type: 'NodePool', name, object: pools.get(name) });
  }
  for (const [name, object] of nodes) membership.apply({ type: 'Node', name, object });
  return unreachablePodDeletionRule({
    membership,
    nodes,
    nodeNow: async (name) => nodes.get(name),
    leaseOf: async (name) => lease(name),
    pools,
    groups: new Map(),
    now: () => 400_000,
  });
}

const deleted = async (
  username: string,
  nodeName: string,
  metadata: Pod['metadata'] = {},
  autonomy?: string,
): Promise<unknown> => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName, containers: [] } };
  const request = { oldObject: pod, object: null, userInfo: { username } };
  return rule(autonomy).evaluate(request as unknown as AdmissionRequest);
};

it('keeps Kubernetes from deleting the pods of a pool that is unreachable as a whole', async () => {
  expect(await deleted(NODE_CONTROLLER, 'p1')).toMatchObject({
    forbidden: expect.stringContaining('all other nodes in pool paris are unreachable'),
  });
});

it('allows it if other nodes of the pool report', async () => {
  expect(await deleted(NODE_CONTROLLER, 'r1')).toEqual({});
});

it('allows it for the pods of the manager, and for users', async () => {
  const namespace = 'tidegate-system';
  const labels = { 'app.kubernetes.io/part-of': 'tidegate' };
  expect(await deleted(NODE_CONTROLLER, 'p1', { namespace, labels })).toEqual({});
  expect(await deleted('alice', 'p1')).toEqual({});
});

it('keeps them until the autonomy of the pool ends, and reports both times', async () => {
  expect(await deleted(NODE_CONTROLLER, 'p1', {}, '301s')).toEqual({
    forbidden:
      'node p1 and all other nodes in pool paris are unreachable, last heard of at 1970-01-01T00:01:40Z; pods are left unchanged until the pool reconnects, but no longer than 1970-01-01T00:06:41Z',
  });
  expect(await deleted(NODE_CONTROLLER, 'p1', {}, '300s')).toEqual({});
  expect(await deleted(NODE_CONTROLLER, 'p1', {}, 'Never')).toEqual({});
});
