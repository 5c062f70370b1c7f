import type { Lease, Node, Pod } from '@tidegate/kube';
import { expect, it } from 'vitest';
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

function rule() {
  const membership = new Membership();
  const nodes = new Map(Object.keys(READY_AT).map((name) => [name, node(name)]));
  for (const name of ['paris', 'rome']) {
    const object = { apiVersion: 'apps.openyurt.io/v1beta2', kind: 'NodePool', metadata: { name }, spec: {} };
    membership.apply({ type: 'NodePool', name, object });
  }
  for (const [name, object] of nodes) membership.apply({ type: 'Node', name, object });
  return unreachablePodDeletionRule({
    membership,
    nodes,
    nodeNow: async (name) => nodes.get(name),
    leaseOf: async (name) => lease(name),
  });
}

const deleted = async (
  username: string,
  nodeName: string,
  metadata: Pod['metadata'] = {},
): Promise<unknown> => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName, containers: [] } };
  const request = { oldObject: pod, object: null, userInfo: { username } };
  return rule().evaluate(request as unknown as AdmissionRequest);
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
