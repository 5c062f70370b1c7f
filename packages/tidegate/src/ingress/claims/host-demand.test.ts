import { expect, test } from 'vitest';
import { ingress } from '../testing/objects.ts';
import { HostDemand } from './host-demand.ts';

const named = (namespace: string, ...hosts: string[]) =>
  ingress({ namespace, rules: Object.fromEntries(hosts.map((host) => [`${host}/`, 'web:80'])) });

test('namespaces are in the order in which they named a host, not in that of the age of their Ingresses', () => {
  const demand = new HostDemand();
  expect([...demand.put(named('shop', 'a.io', ''))]).toEqual(['gold/a.io', 'gold/*']);
  demand.put({ ...named('old', 'a.io'), metadata: { ...ingress({ age: 99 }).metadata, namespace: 'old' } });
  expect(demand.namespacesOf('gold/a.io')).toEqual(['shop', 'old']);
  expect([...demand.put(named('shop', 'b.io'))]).toEqual(['gold/a.io', 'gold/*', 'gold/b.io']);
  expect(demand.namespacesOf('gold/a.io')).toEqual(['old']);
  demand.put(named('shop', 'a.io'));
  expect(demand.namespacesOf('gold/a.io')).toEqual(['old', 'shop']);
});

test('the namespace that has a host comes before those that wait for it', () => {
  const demand = new HostDemand();
  demand.put(named('old', 'a.io'));
  demand.put(named('shop', 'a.io'));
  demand.prefer('gold/a.io', 'shop');
  demand.prefer('gold/a.io', 'gone');
  demand.prefer('gold/b.io', 'shop');
  expect(demand.namespacesOf('gold/a.io')).toEqual(['shop', 'old']);
});

test('an update that names the same hosts concerns no host', () => {
  const demand = new HostDemand();
  demand.put(named('shop', 'a.io'));
  expect(demand.put(named('shop', 'a.io')).size).toBe(0);
  expect([...demand.remove(named('shop', 'a.io'))]).toEqual(['gold/a.io']);
  expect([...demand.keysOfClass('gold')]).toEqual([]);
});

test('hosts below a wildcard are known at every depth', () => {
  const demand = new HostDemand();
  demand.put(named('shop', 'a.x.io', 'b.a.x.io', '*.a.x.io', 'x.io'));
  expect([...demand.keysBelow('*.x.io')]).toEqual(['gold/a.x.io', 'gold/b.a.x.io', 'gold/*.a.x.io']);
  demand.remove(named('shop'));
  expect([...demand.keysBelow('*.x.io')]).toEqual([]);
});

test('hosts beyond the limit of an Ingress are not wanted, also if it closes them', () => {
  const demand = new HostDemand();
  const hosts = Array.from({ length: 1_100 }, (_, index) => `h${index}.io`);
  const many = named('shop', ...hosts);
  expect(demand.put(many).size).toBe(1_000);
  const annotations = { 'nginx.ingress.kubernetes.io/auth-snippet': 'http://a' };
  expect(demand.put({ ...many, metadata: { ...many.metadata, name: 'closed', annotations } }).size).toBe(
    1_000,
  );
  expect(demand.namespacesOf('gold/h1000.io')).toEqual([]);
});
