import { expect, test } from 'vitest';
import { allocate, isExhausted } from './fixed-addresses.ts';

const fixed = { addresses: ['192.0.2.1', '192.0.2.2'], httpNodePorts: [30080, 30081] };
const routers = (...names: string[]) => names.map((name) => ({ name }));

test('gives each router an address and a node port of its own', () => {
  expect(Object.fromEntries(allocate(fixed, routers('gold', 'gold-2')))).toEqual({
    gold: { addresses: ['192.0.2.1'], nodePorts: { http: 30080 } },
    'gold-2': { addresses: ['192.0.2.2'], nodePorts: { http: 30081 } },
  });
});

test('leaves a router its address, even if a router before it is gone or the list has another order', () => {
  const workload = { addresses: ['192.0.2.2'], nodePorts: { http: 30081 } };
  const allocated = allocate(fixed, [{ name: 'gold' }, { name: 'gold-2', workload }]);
  expect(allocated.get('gold-2')).toEqual(workload);
  expect(allocated.get('gold')?.addresses).toEqual(['192.0.2.1']);
});

test('gives nothing to a router when addresses or ports have run out', () => {
  const allocated = allocate(fixed, routers('a', 'b', 'c'));
  expect(allocated.get('c')).toEqual({ addresses: [], nodePorts: {} });
  expect([...allocated.values()].map(isExhausted)).toEqual([false, false, true]);
  const ports = allocate({ httpNodePorts: [30080, 30081], httpsNodePorts: [30443] }, routers('a', 'b'));
  expect([...ports.values()].map(isExhausted)).toEqual([false, true]);
});

test('leaves addresses and ports open if the class has none', () => {
  expect([...allocate({}, routers('a')).values()]).toEqual([{}]);
  expect(isExhausted()).toBe(false);
});
