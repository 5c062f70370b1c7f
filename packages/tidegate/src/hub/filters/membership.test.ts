import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PoolMembership, type PoolState } from './membership.ts';

describe('PoolMembership', () => {
  it('knows the nodes in the status of pools of both kinds', () => {
    const membership = new PoolMembership();
    expect(membership.set('NodePool', 'p', { resourceVersion: '1', nodes: ['a', 'b'] })).toEqual(['a', 'b']);
    expect(membership.set('NodeGroup', 'g', { resourceVersion: '2', nodes: ['a'] })).toEqual(['a']);
    expect(membership.poolOf('NodePool', 'a')).toBe('p');
    expect(membership.poolOf('NodeGroup', 'a')).toBe('g');
    expect(membership.poolOf('NodeGroup', 'b')).toBeUndefined();
  });

  it('returns no nodes when a pool was written with the same nodes', () => {
    const membership = new PoolMembership();
    membership.set('NodePool', 'p', { resourceVersion: '1', nodes: ['a', 'b'] });
    expect(membership.set('NodePool', 'p', { resourceVersion: '9', nodes: ['b', 'a'] })).toEqual([]);
  });

  it('prefers the pool that was written last, and returns to the other one when it is deleted', () => {
    const membership = new PoolMembership();
    membership.set('NodePool', 'p', { resourceVersion: '9', nodes: ['a'] });
    expect(membership.set('NodePool', 'q', { resourceVersion: '10', nodes: ['a'] })).toEqual(['a']);
    expect(membership.poolOf('NodePool', 'a')).toBe('q');
    expect(membership.set('NodePool', 'q', undefined)).toEqual(['a']);
    expect(membership.poolOf('NodePool', 'a')).toBe('p');
  });

  it('depends on the current pools only, and returns exactly the nodes that moved', () => {
    const NODES = ['a', 'b', 'c'];
    const POOLS = ['p', 'q', 'r'];
    const change = fc.record({
      pool: fc.constantFrom(...POOLS),
      nodes: fc.option(fc.array(fc.constantFrom(...NODES)), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const membership = new PoolMembership();
        const pools = new Map<string, PoolState>();
        const owners = (): (string | undefined)[] => NODES.map((node) => membership.poolOf('NodePool', node));
        changes.forEach(({ pool, nodes }, index) => {
          const state = nodes && { resourceVersion: String(index + 1), nodes };
          const before = owners();
          const moved = membership.set('NodePool', pool, state);
          if (state === undefined) pools.delete(pool);
          else pools.set(pool, state);
          expect(new Set(moved)).toEqual(new Set(NODES.filter((_, i) => owners()[i] !== before[i])));
        });
        const newestFirst = [...pools].sort(
          ([, a], [, b]) => Number(b.resourceVersion) - Number(a.resourceVersion),
        );
        expect(owners()).toEqual(
          NODES.map((node) => newestFirst.find(([, { nodes }]) => nodes.includes(node))?.[0]),
        );
      }),
    );
  });
});
