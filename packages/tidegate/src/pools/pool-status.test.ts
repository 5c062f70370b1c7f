import { describe, expect, it } from 'vitest';
import { nodeGroupStatus, nodePoolStatus, type PoolSummary, readyStatusOf } from './pool-status.ts';
import { node } from './testing/objects.ts';
import { validateDelete } from './validate-delete.ts';

const view = (more: Partial<PoolSummary>): PoolSummary => ({
  generation: 3,
  members: [],
  refused: [],
  missing: [],
  ...more,
});
const ready = (name: string) => ({ name, ready: 'Ready' as const });
const because = (more: Partial<PoolSummary>): string => {
  const [condition] = nodePoolStatus(undefined, view(more), 0).conditions ?? [];
  return `${condition?.status} ${condition?.reason}: ${condition?.message}`;
};

describe('the status of a pool', () => {
  it('counts nodes and reports the most severe problem', () => {
    const members = [ready('a'), { name: 'b', ready: 'Unknown' as const }];
    const refused = [{ ...ready('c'), owner: 'other' }];
    expect(because({ members: [ready('a')] })).toBe('True NodesReady: The only node is ready');
    expect(because({})).toBe('False NoNodes: The pool has no nodes');
    expect(because({ members })).toBe('False NodesNotReady: 1 of 2 nodes are not ready: b');
    expect(because({ members, missing: ['d'] })).toBe('False NodesMissing: Nodes do not exist: d');
    expect(because({ members, missing: ['d'], refused })).toBe(
      'False NodesRefused: Nodes are owned by another pool: c (in other)',
    );
    expect(because({ refused, problem: 'x' })).toBe(
      'False InvalidSelector: The selector is invalid, so it selects no nodes: x',
    );
    expect(because({ problem: 'x', deleting: 'held' })).toBe('False Deleting: held');
    expect(nodePoolStatus(undefined, view({ members }), 0)).toMatchObject({
      nodes: ['a', 'b'],
      readyNodeNum: 1,
      unreadyNodeNum: 1,
    });
  });

  it('changes lastTransitionTime only if the status changes', () => {
    const first = nodeGroupStatus(undefined, view({ members: [ready('a')] }), 0);
    const second = nodeGroupStatus(first, view({ members: [ready('a'), ready('b')] }), 60_000);
    const third = nodeGroupStatus(second, view({}), 120_000);
    const times = [first, second, third].map(({ conditions }) => conditions?.[0]?.lastTransitionTime);
    expect(times).toEqual(['1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '1970-01-01T00:02:00Z']);
  });

  it('treats a node without a Ready condition as Unknown', () => {
    expect(readyStatusOf(undefined)).toBe('Unknown');
    expect(readyStatusOf(node('a'))).toBe('Unknown');
    expect(readyStatusOf(node('a', {}, { ready: 'False' }))).toBe('NotReady');
  });
});

describe('validateDelete', () => {
  it('rejects the deletion of a NodePool with nodes, and allows that of a NodeGroup', () => {
    const nodes = new Set(['g', 'f', 'e', 'd', 'c', 'b', 'a']);
    expect(validateDelete('NodePool', nodes)).toMatch(
      /^the pool still has nodes: a, b, c, d, e and 2 more; remove/,
    );
    expect(validateDelete('NodePool', new Set())).toBeUndefined();
    expect(validateDelete('NodeGroup', nodes)).toBeUndefined();
  });
});
