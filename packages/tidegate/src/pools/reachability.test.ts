import type { Lease, Node } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { Membership } from './membership.ts';
import { unreachablePoolOf } from './reachability.ts';
import { group, node, pool } from './testing/objects.ts';

type Ready = 'True' | 'Unknown' | 'False';
/** The readiness of a node, when its lease was renewed by the clock of the API server and by its own, and since when. */
type NodeState = [ready: Ready, seconds?: number, ownSeconds?: number, since?: number];

async function outOfReach(name: string, all: Record<string, NodeState>): Promise<string | undefined> {
  const membership = new Membership();
  membership.apply({ type: 'NodePool', name: 'paris', object: pool('paris') });
  const location = group('rome', { matchLabels: { location: 'rome' } });
  membership.apply({ type: 'NodeGroup', name: 'rome', object: location });
  const nodes = new Map<string, Node>();
  for (const [each, [ready, , , since]] of Object.entries(all)) {
    const labels = {
      ...(each.startsWith('paris') && { 'apps.openyurt.io/nodepool': 'paris' }),
      ...(each.includes('rome') && { location: 'rome' }),
    };
    const lastTransitionTime = since === undefined ? undefined : at(since);
    nodes.set(each, node(each, labels, { ready, lastTransitionTime }));
    membership.apply({ type: 'Node', name: each, object: nodes.get(each) });
  }
  const unreachable = await unreachablePoolOf(name, {
    membership,
    nodes,
    nodeNow: async (wanted) => nodes.get(wanted),
    leaseOf: async (wanted) => lease(all[wanted] ?? ['Unknown']),
    pools: new Map([['paris', pool('paris')]]),
    groups: new Map([['rome', location]]),
    now: () => 1_000_000,
  });
  return unreachable?.name;
}

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

const lease = ([, seconds, ownSeconds = seconds]: NodeState): Lease | undefined =>
  ownSeconds === undefined
    ? undefined
    : {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { ...(seconds !== undefined && { managedFields: [{ time: at(seconds) }] }) },
        spec: { leaseDurationSeconds: 40, renewTime: at(ownSeconds) },
      };

describe('unreachablePoolOf', () => {
  it.each<[string, string | undefined, Record<string, NodeState>]>([
    ['the node is alone in its pool', 'paris', { paris1: ['Unknown', 100] }],
    ['all nodes are unreachable', 'paris', { paris1: ['Unknown', 100], paris2: ['Unknown', 130] }],
    [
      'the other nodes stopped too, but are not Unknown yet',
      'paris',
      { paris1: ['Unknown', 100], paris2: ['True', 109] },
    ],
    [
      'another node renewed its lease much later',
      undefined,
      { paris1: ['Unknown', 100], paris2: ['True', 139] },
    ],
    [
      'only nodes of other pools renewed their leases',
      'paris',
      { paris1: ['Unknown', 100], rome1: ['True', 139] },
    ],
    [
      'another node of its NodeGroup renewed its lease',
      undefined,
      { paris1rome: ['Unknown', 100], rome1: ['True', 139] },
    ],
    [
      'only the clocks of nodes differ',
      'paris',
      { paris1: ['Unknown', 100, 0], paris2: ['True', 100, 5000] },
    ],
    [
      'the first node of the pool has just returned',
      'paris',
      { paris1: ['Unknown', 100], paris2: ['True', 300, 5300, 5290] },
    ],
    [
      'another node has returned for longer than it takes the others to follow',
      undefined,
      { paris1: ['Unknown', 100], paris2: ['True', 300, 5300, 5250] },
    ],
    ['the node itself reports that it is not ready', undefined, { paris1: ['False', 100] }],
    ['the node is in no pool', undefined, { other: ['Unknown', 100] }],
    ['the node never renewed its lease', undefined, { paris1: ['Unknown'] }],
  ])('%s: %s', async (_, expected, all) => {
    expect(await outOfReach(Object.keys(all)[0]!, all)).toBe(expected);
  });
});
