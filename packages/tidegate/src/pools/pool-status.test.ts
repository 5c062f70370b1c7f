import { describe, expect, it } from 'vitest';
import { nodeGroupStatus, nodePoolStatus, type PoolView, readyStatusOf } from './pool-status.ts';
import { node } from './testing/objects.ts';
import { validateDelete } from './validate-delete.ts';

const view = (more: Partial<PoolView>): PoolView => ({
  generation: 3,
  members: [],
  refused: [],
  missing: [],
  ...more,
});
const ready = (name: string) => ({ name, ready: 'Ready' as const });
const because = (more: Partial<PoolView>): string => {
  const [condition] = nodePoolStatus(undefined, view(more), 0).conditions ?? [];
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
};

describe('the status of a pool', () => {
  it('counts the nodes and says why it is ready, or the worst reason why not', () => {
    const members = [ready('a'), { name: 'b', ready: 'Unknown' as const }];
    const refused = [{ ...ready('c'), owner: 'other' }];
    expect(because({ members: [ready('a')] })).toBe('True NodesReady: all nodes are ready: 1');
    expect(because({})).toBe('False NoNodes: no node is in this pool');
    expect(because({ members })).toBe('False NodesNotReady: 1 of 2 nodes: b');
    expect(because({ members, missing: ['d'] })).toBe('False NodesMissing: nodes that do not exist: d');
    expect(because({ members, missing: ['d'], refused })).toBe(
      'False NodesRefused: nodes that another pool has: c (in other)',
    );
    expect(because({ refused, problem: 'x' })).toBe('False InvalidSelector: the selector selects nothing: x');
    expect(because({ problem: 'x', deleting: 'held' })).toBe('False Deleting: held');
    expect(nodePoolStatus(undefined, view({ members }), 0)).toMatchObject({
      nodes: ['a', 'b'],
      readyNodeNum: 1,
      unreadyNodeNum: 1,
    });
  });

  it('moves lastTransitionTime only with the status', () => {
    const first = nodeGroupStatus(undefined, view({ members: [ready('a')] }), 0);
    const second = nodeGroupStatus(first, view({ members: [ready('a'), ready('b')] }), 60_000);
    const third = nodeGroupStatus(second, view({}), 120_000);
    const times = [first, second, third].map(({ conditions }) => conditions?.[0]?.lastTransitionTime);
    expect(times).toEqual(['1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '1970-01-01T00:02:00Z']);
  });

  it('takes a node that says nothing for unknown', () => {
    expect(readyStatusOf(undefined)).toBe('Unknown');
    expect(readyStatusOf(node('a'))).toBe('Unknown');
    expect(readyStatusOf(node('a', {}, { ready: 'False' }))).toBe('NotReady');
  });
});

describe('validateDelete', () => {
  it('names the nodes that hold a NodePool, and lets a NodeGroup go', () => {
    const nodes = new Set(['g', 'f', 'e', 'd', 'c', 'b', 'a']);
    expect(validateDelete('NodePool', nodes)).toMatch(
      /^the pool still has nodes: a, b, c, d, e and 2 more; take/,
    );
    expect(validateDelete('NodePool', new Set())).toBeUndefined();
    expect(validateDelete('NodeGroup', nodes)).toBeUndefined();
  });
});
