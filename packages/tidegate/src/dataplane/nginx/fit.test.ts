import { describe, expect, it } from 'vitest';
import { applyDelta, EMPTY_TABLE, type RouteTable } from '../../ingress/match/index.ts';
import type { Delta, HostRoutes, Route, RouteAction } from '../../ingress/model.ts';
import { Fit, without } from './fit.ts';

const MIB = 1024 * 1024;
const MEMORY = { hosts: 128 * MIB, upstreams: 64 * MIB, certificates: 128 * MIB, credentials: 32 * MIB };
const NONE = { set: [], remove: [] };

const action = (namespace: string): RouteAction => ({
  backends: [{ upstream: `${namespace}_web_80`, weight: 1 }],
  limits: {},
  source: { kind: 'Ingress', namespace, name: 'web', rule: 0, path: 0 },
});
const route = (namespace: string, path: string): Route => ({
  path,
  match: 'Prefix',
  headers: [],
  action: action(namespace),
});
/** As many paths as the routes of a namespace can have, and as long. */
const long = (namespace: string): Route[] =>
  Array.from({ length: 5_000 }, (_, at) => route(namespace, `/${at}${'x'.repeat(4_000)}`));

class Rig {
  readonly fit: Fit;
  table: RouteTable = EMPTY_TABLE;

  constructor(memory = MEMORY) {
    this.fit = new Fit(memory);
  }

  set(...hosts: HostRoutes[]): void {
    const from = this.table.generation;
    const delta: Delta = {
      ...{ from, to: from + 1, upstreams: NONE, certificates: NONE },
      hosts: { set: hosts, remove: [] },
    };
    this.table = applyDelta(this.table, delta);
    this.fit.note(this.table, delta);
  }

  /** What nginx gets. */
  get fitted(): RouteTable {
    return without(this.table, this.fit.withheld(0.85));
  }
}

const paths = ({ routes }: HostRoutes): string[] => routes.map(({ path }) => path);

describe('rules without a host', () => {
  it('of a namespace that uses too much are withheld, and those of others are not', () => {
    for (const key of ['', '3:']) {
      const rig = new Rig();
      rig.set({
        ...{ host: key, namespace: '' },
        routes: [...long('evil'), route('good', '/good'), route('other', '/other')],
      });
      const host = rig.fitted.hosts.get(key)!;
      expect(paths(host)).toEqual(['/good', '/other']);
      // A path that is withheld is closed.
      expect(host.fallback?.backends).toEqual([]);
      rig.set({ host: key, namespace: '', routes: [route('evil', '/small'), route('good', '/good')] });
      expect(rig.fitted).toBe(rig.table);
    }
  });

  it('are withheld for a namespace as a whole, so that no path is open that another protects', () => {
    const rig = new Rig();
    const routes = [...long('evil'), route('evil', '/')];
    rig.set({ host: '', namespace: '', routes, fallback: action('good') });
    const host = rig.fitted.hosts.get('')!;
    expect(paths(host)).toEqual([]);
    expect(host.fallback).toEqual(action('good'));
  });

  it('count for the namespace that has them when the memory is full', () => {
    const rig = new Rig({ ...MEMORY, hosts: 2 * MIB });
    const some = (namespace: string, count: number): Route[] => long(namespace).slice(0, count);
    rig.set(
      { host: 'a.example.com', namespace: 'evil', routes: some('evil', 300) },
      { host: 'b.example.com', namespace: 'good', routes: some('good', 50) },
      { host: '', namespace: '', routes: [...some('evil', 150), ...some('good', 50)] },
    );
    const { hosts } = rig.fitted;
    expect(hosts.get('b.example.com')).toBe(rig.table.hosts.get('b.example.com'));
    expect(hosts.get('a.example.com')?.routes).toEqual([]);
    expect(
      hosts.get('')?.routes.filter(({ action: { source } }) => source.namespace === 'good'),
    ).toHaveLength(50);
  });

  it('of many namespaces together fit into one entry', () => {
    const rig = new Rig();
    const namespaces = ['a', 'b', 'c', 'd'];
    const routes = namespaces.flatMap((namespace) => long(namespace).slice(0, 600));
    rig.set({ host: '', namespace: '', routes: [...routes, route('good', '/good')] });
    const kept = paths(rig.fitted.hosts.get('')!);
    expect(kept).toContain('/good');
    expect(kept.length * 4_000).toBeLessThan(8 * MIB);
  });
});
