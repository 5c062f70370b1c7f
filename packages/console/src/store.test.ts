import { expect, it } from 'vitest';
import { Changed, CLOUD, Store } from './store.ts';
import type { Row } from './wire.ts';

function apply(store: Store, put: Row[], drop: { kind: Row['kind']; key: string }[] = []): string[] {
  const changed = new Changed();
  store.apply({ put, drop }, changed);
  return [...changed.pools].sort();
}

const node = (key: string, nodePool?: string): Row => ({ kind: 'Node', key, nodePool, ready: 'True' });

it('names exactly the pools that a change affects', () => {
  const store = new Store();
  expect(apply(store, [node('a', 'paris'), node('b', 'rome'), node('c')])).toEqual([
    'NodePool/paris',
    'NodePool/rome',
    CLOUD,
  ]);
  expect(apply(store, [{ kind: 'Link', key: 'a', cut: true }])).toEqual(['NodePool/paris']);
  expect(apply(store, [node('a', 'rome')])).toEqual(['NodePool/paris', 'NodePool/rome']);
  expect(store.inPool('Node', 'NodePool/rome').map(({ key }) => key)).toEqual(['a', 'b']);
  expect(apply(store, [], [{ kind: 'Node', key: 'a' }])).toEqual(['NodePool/rome']);
  expect(store.inPool('Node', 'NodePool/paris')).toEqual([]);
});

it('sorts pools by name, with numbers in numeric order', () => {
  const store = new Store();
  apply(
    store,
    ['shop-10', 'shop-9', 'depot'].map((key): Row => ({ kind: 'NodePool', key })),
  );
  apply(store, [{ kind: 'NodeGroup', key: 'harbor' }]);
  expect(store.pools()).toEqual([
    'NodePool/depot',
    'NodeGroup/harbor',
    'NodePool/shop-9',
    'NodePool/shop-10',
  ]);
});
