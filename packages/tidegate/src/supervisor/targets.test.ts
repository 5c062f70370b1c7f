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
])('%j means %j', (targets, names) => {
  expect(resolveTargets(targets, nodes)).toEqual(names);
});

it('an unknown target is answered with what there is', () => {
  expect(() => resolveTargets(['node-a', 'paris'], nodes)).toThrow(
    'no node is or has "paris"; there is: node-a, node-b, node-c, node-d, node-e, node-f, node-g, location=hangzhou, location=beijing, the pool shops, the pool plants',
  );
  expect(() => resolveTargets(['location=paris'], nodes)).toThrow(
    'no node is or has "location=paris"; there is: ',
  );
  expect(() => resolveTargets(['x'], [])).toThrow('there is: no node at all');
  expect(() => resolveTargets(['a=(b'], nodes)).toThrow('"a=(b" is not a label selector: ');
});
