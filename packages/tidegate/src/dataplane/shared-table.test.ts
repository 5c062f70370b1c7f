import { describe, expect, it } from 'vitest';
import type { Delta, HostRoutes, Upstream } from '../ingress/model.ts';
import { CapacityError, type Driver, NeedsFullState, type Unserved } from './driver.ts';
import { SharedTable } from './shared-table.ts';

/** Keeps the table as a data plane would, and can be full. */
class Table implements Driver {
  readonly deltas: Delta[] = [];
  readonly hosts = new Map<string, HostRoutes>();
  readonly upstreams = new Map<string, Upstream>();
  readonly users = new Set<string>();
  isFull = false;

  async start(first?: Delta) {
    if (first !== undefined) await this.apply(first);
    return { http: 0, https: 0 };
  }

  async apply(delta: Delta): Promise<void> {
    if (this.isFull) throw new CapacityError('full');
    this.deltas.push(delta);
    if (delta.from === 0) for (const map of [this.hosts, this.upstreams]) map.clear();
    for (const host of delta.hosts.remove) this.hosts.delete(host);
    for (const host of delta.hosts.set) this.hosts.set(host.host, host);
    for (const id of delta.upstreams.remove) this.upstreams.delete(id);
    for (const upstream of delta.upstreams.set) this.upstreams.set(upstream.id, upstream);
    for (const id of delta.credentials?.remove ?? []) this.users.delete(id);
    for (const { id } of delta.credentials?.set ?? []) this.users.add(id);
  }

  /** What it has no room for. */
  withoutRoom: Unserved[] = [];

  unserved = () => this.withoutRoom;
  health = () => ({ ready: true, reasons: [] });
  metrics = async () => '';
  drain = async () => {};
  close = async () => {};
}

const upstream = (id: string): Upstream => ({
  id,
  namespace: 'shop',
  service: 'web',
  protocol: 'http',
  balance: 'roundRobin',
  endpoints: [],
});

const host = (name: string): HostRoutes => ({
  host: name,
  namespace: 'shop',
  routes: [],
  fallback: {
    backends: [{ upstream: 'web', weight: 1 }],
    limits: {},
    source: { kind: 'Ingress', namespace: 'shop', name: 'web', rule: -1, path: -1 },
  },
});

const delta = (from: number, to: number, set: string[], remove: string[] = []): Delta => ({
  from,
  to,
  hosts: { set: set.map(host), remove },
  upstreams: { set: from === 0 ? [upstream('web')] : [], remove: [] },
  certificates: { set: [], remove: [] },
});

const facts = (number: number, identity: string) => ({
  number,
  identity,
  className: `class-${number}`,
  router: `router-${number}`,
});

const namesIn = ({ hosts }: Table): string[] =>
  [...hosts.keys()].filter((key) => /:[a-z.]*$/.test(key)).sort();

describe('a table that routers share', () => {
  it('starts without a section that has ended before, and with the last change of others', async () => {
    const table = new Table();
    const driver = new SharedTable(table);
    const [gold, silver] = [driver.section(facts(1, 'uid-1')), driver.section(facts(2, 'uid-2'))];
    await gold.start(delta(0, 1, ['a.example']));
    await silver.start(delta(0, 1, ['b.example', 'c.example']));
    await silver.apply(delta(1, 2, ['d.example'], ['b.example']));
    await gold.close();
    await driver.start();
    expect(namesIn(table)).toEqual(['2:c.example', '2:d.example']);
    expect([...table.upstreams.keys()]).toEqual(['2:web']);
    // Each key once: a data plane may load the table in any order.
    const keys = table.deltas[0]?.hosts.set.map((each) => each.host) ?? [];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('keeps the hosts and upstreams of each section apart', async () => {
    const table = new Table();
    const driver = new SharedTable(table);
    await driver.start();
    const [gold, silver] = [driver.section(facts(1, 'uid-1')), driver.section(facts(2, 'uid-2'))];
    await gold.apply(delta(0, 1, ['a.example', '']));
    await silver.apply(delta(0, 1, ['a.example']));
    expect(namesIn(table)).toEqual(['1:', '1:a.example', '2:a.example']);
    expect([...table.upstreams.keys()]).toEqual(['1:web', '2:web']);
    expect(table.hosts.get('2:a.example')?.fallback?.backends).toEqual([{ upstream: '2:web', weight: 1 }]);
    expect(table.hosts.get('1:uid-1.router.tidegate.invalid')?.isIdentity).toBe(true);
  });

  it('keeps the users of each section apart, and removes them with it', async () => {
    const table = new Table();
    const driver = new SharedTable(table);
    await driver.start();
    const [gold, silver] = [driver.section(facts(1, 'uid-1')), driver.section(facts(2, 'uid-2'))];
    const plain = host('a.example');
    const fallback = { ...plain.fallback!, policy: { basic: { credentials: 'shop/users', realm: 'r' } } };
    const withUsers: Delta = {
      ...delta(0, 1, []),
      hosts: { set: [{ ...plain, fallback }], remove: [] },
      credentials: { set: [{ id: 'shop/users', users: { ann: 'hash' } }], remove: [] },
    };
    for (const section of [gold, silver]) await section.apply(withUsers);
    expect([...table.users]).toEqual(['1:shop/users', '2:shop/users']);
    expect(table.hosts.get('2:a.example')?.fallback?.policy?.basic?.credentials).toBe('2:shop/users');
    await silver.apply(delta(0, 2, ['a.example']));
    expect([...table.users]).toEqual(['1:shop/users']);
    await gold.close();
    expect([...table.users]).toEqual([]);
  });

  it('replaces only its own section with a full state, and changes only what a delta names', async () => {
    const table = new Table();
    const driver = new SharedTable(table);
    await driver.start();
    const [gold, silver] = [driver.section(facts(1, 'uid-1')), driver.section(facts(2, 'uid-2'))];
    await gold.apply(delta(0, 1, ['a.example', 'b.example']));
    await silver.apply(delta(0, 1, ['s.example']));
    await gold.apply(delta(0, 2, ['b.example']));
    expect(namesIn(table)).toEqual(['1:b.example', '2:s.example']);
    await gold.apply(delta(2, 3, ['c.example'], ['b.example']));
    expect(namesIn(table)).toEqual(['1:c.example', '2:s.example']);
    expect(table.deltas.at(-1)).toMatchObject({ from: 3, to: 4, hosts: { remove: ['1:b.example'] } });
    expect(table.deltas.at(-1)?.hosts.set).toHaveLength(1);
    await expect(gold.apply(delta(2, 4, []))).rejects.toThrow(NeedsFullState);
  });

  it('starts with the stored tables of all sections at once, or empty if they do not fit', async () => {
    for (const isFull of [false, true]) {
      const table = new Table();
      table.isFull = isFull;
      const driver = new SharedTable(table);
      const sections = [driver.section(facts(1, 'uid-1')), driver.section(facts(2, 'uid-2'))];
      for (const section of sections) await section.start(delta(0, 1, ['a.example']));
      await driver.start();
      expect(namesIn(table)).toEqual(isFull ? [] : ['1:a.example', '2:a.example']);
      expect(table.deltas).toHaveLength(isFull ? 0 : 1);
      table.isFull = false;
      await sections[0]!.apply(delta(0, 2, ['b.example']));
      expect(namesIn(table)).toEqual(isFull ? ['1:b.example'] : ['1:b.example', '2:a.example']);
    }
  });

  it('removes a section that is closed, and keeps the others', async () => {
    const table = new Table();
    const driver = new SharedTable(table);
    await driver.start();
    const [gold, silver] = [driver.section(facts(1, 'uid-1')), driver.section(facts(2, 'uid-2'))];
    await gold.apply(delta(0, 1, ['a.example']));
    await silver.apply(delta(0, 1, ['a.example']));
    await gold.close();
    expect([...table.hosts.keys(), ...table.upstreams.keys()].every((key) => key.startsWith('2:'))).toBe(
      true,
    );
  });

  it('gives a new section nothing of an earlier one with its number whose removal failed', async () => {
    const table = new Table();
    const driver = new SharedTable(table);
    await driver.start();
    const gold = driver.section(facts(1, 'uid-1'));
    await gold.apply(delta(0, 1, ['a.example']));
    table.isFull = true;
    await expect(gold.close()).rejects.toThrow(CapacityError);
    table.isFull = false;
    await driver.section(facts(1, 'uid-2')).apply(delta(0, 1, ['b.example']));
    expect(namesIn(table)).toEqual(['1:b.example']);
    expect(table.hosts.has('1:uid-1.router.tidegate.invalid')).toBe(false);
  });

  it('is unchanged after a change that does not fit', async () => {
    const table = new Table();
    const driver = new SharedTable(table);
    await driver.start();
    const gold = driver.section(facts(1, 'uid-1'));
    await gold.apply(delta(0, 1, ['a.example']));
    table.isFull = true;
    await expect(gold.apply(delta(1, 2, ['b.example']))).rejects.toThrow(CapacityError);
    table.isFull = false;
    await gold.apply(delta(1, 3, ['c.example']));
    expect(namesIn(table)).toEqual(['1:a.example', '1:c.example']);
  });
});

it('shows each section what the data plane has no room for, without the parts of others', () => {
  const table = new Table();
  table.withoutRoom = [
    { kind: 'hosts', key: '1:a.io' },
    { kind: 'hosts', key: '12:b.io' },
    { kind: 'hosts', key: '1:', namespace: 'shop' },
    { kind: 'credentials', key: '2:shop/users' },
  ];
  const shared = new SharedTable(table);
  const of = (section: number) => shared.section(facts(section, `uid-${section}`)).unserved?.();
  expect(of(1)).toEqual([
    { kind: 'hosts', key: 'a.io' },
    { kind: 'hosts', key: '', namespace: 'shop' },
  ]);
  expect(of(2)).toEqual([{ kind: 'credentials', key: 'shop/users' }]);
  expect(of(3)).toEqual([]);
});
