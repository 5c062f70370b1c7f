import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changeOf, describeChange, placeNodes } from './change.ts';
import type { NodeLayout } from './layout.ts';

const node = (name: string, labels: Record<string, string> = {}): NodeLayout => ({ name, labels });
const clusterOf = (nodes: ReturnType<typeof placeNodes>) => ({ range: 64, port: 6443, nodes });

describe('from one layout to another', () => {
  it('says what is new, gone and labelled otherwise', () => {
    const before = [node('a', { x: '1', y: '1' }), node('b'), node('c')];
    const after = [node('a', { x: '2', z: '1' }), node('c'), node('d', { x: '1' })];
    const change = changeOf(before, after);
    expect(change).toEqual({
      added: ['d'],
      removed: ['b'],
      relabelled: new Map([['a', { y: null, x: '2', z: '1' }]]),
    });
    expect(describeChange(change)).toEqual([
      'new in the layout: d',
      'no longer in the layout, their Nodes and pods are removed: b',
      'other labels: a',
    ]);
    expect(describeChange(changeOf(after, after))).toEqual([]);
  });

  it('keeps the number of a node while it is there, and gives none twice', () => {
    const names = fc.uniqueArray(fc.constantFrom(...'abcdefghij'));
    fc.assert(
      fc.property(fc.array(names, { maxLength: 5 }), (layouts) => {
        let nodes: ReturnType<typeof placeNodes> = [];
        for (const layout of layouts) {
          const before = new Map(nodes.map(({ name, number }) => [name, number]));
          nodes = placeNodes(
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
