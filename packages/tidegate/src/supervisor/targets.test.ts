import { expect, it } from 'vitest';
import { exampleLayout } from './layout.ts';
import { resolveTargets } from './targets.ts';

const nodes = [
  ...exampleLayout(),
  { name: 'node-f', labels: { 'apps.openyurt.io/nodepool': 'shops', 'kubernetes.io/os': 'linux' } },
  { name: 'node-g', labels: { 'apps.kubeedge.io/belonging-to': 'plants' } },
];

it.each([
  [['node-c'], ['node-c']],
  [
    ['node-c', 'node-a', 'node-c'],
    ['node-a', 'node-c'],
  ],
  [['location=hangzhou'], ['node-a', 'node-b']],
  [
    ['location in (beijing, hangzhou)', 'shops'],
    ['node-a', 'node-b', 'node-c', 'node-d', 'node-e', 'node-f'],
  ],
  [['!location'], ['node-f', 'node-g']],
  [['plants'], ['node-g']],
])('%j selects %j', (targets, names) => {
  expect(resolveTargets(targets, nodes)).toEqual(names);
});

it('rejects an unknown target and lists the known ones', () => {
  expect(() => resolveTargets(['node-a', 'paris'], nodes)).toThrow(
    '"paris" matches no node; nodes: node-a, node-b, node-c, node-d, node-e, node-f, node-g; pools: shops, plants; labels: location=hangzhou, location=beijing',
  );
  expect(() => resolveTargets(['location=paris'], nodes)).toThrow(
    '"location=paris" matches no node; nodes: ',
  );
  expect(() => resolveTargets(['x'], [])).toThrow('the cluster has no nodes');
  expect(() => resolveTargets(['a=(b'], nodes)).toThrow('"a=(b" is not a valid label selector: ');
});
