import type { Lease, Node } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { Membership } from './membership.ts';
import { poolOutOfReach } from './reach.ts';
import { group, node, pool } from './testing/objects.ts';

type Ready = 'True' | 'Unknown' | 'False';
/** How a node is, and when it was heard last: by the API server, and by its own clock. */
type Heard = [ready: Ready, seconds?: number, ownSeconds?: number];

function outOfReach(name: string, all: Record<string, Heard>): Promise<string | undefined> {
  const membership = new Membership();
  membership.apply({ type: 'NodePool', name: 'paris', object: pool('paris') });
  const location = group('rome', { matchLabels: { location: 'rome' } });
  membership.apply({ type: 'NodeGroup', name: 'rome', object: location });
  const nodes = new Map<string, Node>();
  for (const [each, [ready]] of Object.entries(all)) {
    const labels = {
      ...(each.startsWith('paris') && { 'apps.openyurt.io/nodepool': 'paris' }),
      ...(each.includes('rome') && { location: 'rome' }),
    };
    nodes.set(each, node(each, labels, { ready }));
    membership.apply({ type: 'Node', name: each, object: nodes.get(each) });
  }
  return poolOutOfReach(name, {
    membership,
    nodes,
    nodeNow: async (wanted) => nodes.get(wanted),
    leaseOf: async (wanted) => lease(...(all[wanted] ?? ['Unknown'])),
  });
}

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

const lease = (_: Ready, seconds?: number, ownSeconds = seconds): Lease | undefined =>
  ownSeconds === undefined
    ? undefined
    : {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { ...(seconds !== undefined && { managedFields: [{ time: at(seconds) }] }) },
        spec: { leaseDurationSeconds: 40, renewTime: at(ownSeconds) },
      };

describe('a pool out of reach', () => {
  it.each<[string, string | undefined, Record<string, Heard>]>([
    ['alone in its pool', 'paris', { paris1: ['Unknown', 100] }],
    ['all are silent', 'paris', { paris1: ['Unknown', 100], paris2: ['Unknown', 130] }],
    [
      'the others are silent too, only not for long enough',
      'paris',
      { paris1: ['Unknown', 100], paris2: ['True', 109] },
    ],
    ['another was heard long after', undefined, { paris1: ['Unknown', 100], paris2: ['True', 139] }],
    ['others of other pools were', 'paris', { paris1: ['Unknown', 100], rome1: ['True', 139] }],
    ['another of its NodeGroup was', undefined, { paris1rome: ['Unknown', 100], rome1: ['True', 139] }],
    ['clocks of nodes do not count', 'paris', { paris1: ['Unknown', 100, 0], paris2: ['True', 100, 5000] }],
    ['it says itself that it is not ready', undefined, { paris1: ['False', 100] }],
    ['it is in no pool', undefined, { other: ['Unknown', 100] }],
    ['it was never heard', undefined, { paris1: ['Unknown'] }],
  ])('%s: %s', async (_, expected, all) => {
    expect(await outOfReach(Object.keys(all)[0]!, all)).toBe(expected);
  });
});
