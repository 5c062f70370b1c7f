import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changeOf, describeChange, numberNodes } from './change.ts';
import type { NodeLayout } from './layout.ts';

const node = (name: string, labels: Record<string, string> = {}): NodeLayout => ({ name, labels });
const clusterOf = (nodes: ReturnType<typeof numberNodes>) => ({ range: 64, port: 6443, nodes });

describe('a change of the layout', () => {
  it('lists nodes that are added, removed and relabeled', () => {
    const before = [node('a', { x: '1', y: '1' }), node('b'), node('c')];
    const after = [node('a', { x: '2', z: '1' }), node('c'), node('d', { x: '1' })];
    const change = changeOf(before, after);
    expect(change).toEqual({
      added: ['d'],
      removed: ['b'],
      relabeled: new Map([['a', { y: null, x: '2', z: '1' }]]),
    });
    expect(describeChange(change)).toEqual([
      'nodes added: d',
      'nodes removed, with their pods: b',
      'node labels changed: a',
    ]);
    expect(describeChange(changeOf(after, after))).toEqual([]);
  });

  it('keeps the number of an existing node and never assigns a number twice', () => {
    const names = fc.uniqueArray(fc.constantFrom(...'abcdefghij'));
    fc.assert(
      fc.property(fc.array(names, { maxLength: 5 }), (layouts) => {
        let nodes: ReturnType<typeof numberNodes> = [];
        for (const layout of layouts) {
          const before = new Map(nodes.map(({ name, number }) => [name, number]));
          nodes = numberNodes(
            clusterOf(nodes),
            layout.map((name) => node(name)),
          );
          expect(nodes.map(({ name }) => name)).toEqual(layout);
          expect(new Set(nodes.map(({ number }) => number)).size).toBe(nodes.length);
          for (const { name, number } of nodes) {
            expect(number).toBeGreaterThan(0);
            expect(number).toBeLessThanOrEqual(10);
            if (before.has(name)) expect(number).toBe(before.get(name));
          }
        }
      }),
    );
  });
});
