import { CONFIG_MAPS, PODS, SECRETS, SERVICES } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { type ViewLimits, victims } from './eviction.ts';
import type { ViewKey } from './view.ts';
import { SHARED, singleKey } from './view-key.ts';

const LIMITS: ViewLimits = {
  viewBytes: 100,
  bytes: { perIdentity: 100, total: 200 },
  lists: { perIdentity: 2, total: 4 },
  singles: { perIdentity: 2, total: 4 },
};

const list = (identity: string, resource = SERVICES as ViewKey['resource']): ViewKey => ({
  identity,
  resource,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
});
const single = (identity: string, name: string, namespace = 'default'): ViewKey =>
  singleKey(identity, SECRETS, namespace, name);
const view = (key: ViewKey, usedAt: number, options: { busy?: boolean; bytes?: number } = {}) => ({
  key,
  usedAt,
  isIdle: options.busy !== true,
  progress: { bytes: options.bytes ?? 1 },
});
/** The tenant of an identity is the part before the slash. */
const holderOf = (identity: string) => ({ identity, tenant: identity.split('/')[0]! });
const evicted = (views: ReturnType<typeof view>[]): number[] =>
  victims(views, LIMITS, holderOf).map(({ usedAt }) => usedAt);

describe('victims', () => {
  it('returns nothing while all views are within the limits', () => {
    expect(evicted([view(list('a'), 1), view(list('a'), 2), view(list('b'), 3)])).toEqual([]);
  });

  it('returns the least recently used views of the client that has too many', () => {
    const views = [view(list('b'), 1), ...[5, 2, 4, 3].map((usedAt) => view(list('a'), usedAt))];
    expect(evicted(views)).toEqual([2, 3]);
  });

  it('skips views that are in use, which have limits of their own', () => {
    const views = [1, 2, 3].map((usedAt) => view(list('a'), usedAt, { busy: true }));
    expect(evicted([...views, view(list('a'), 4), view(list('a'), 5)])).toEqual([]);
  });

  it('returns views of the largest tenant if all clients together have too many', () => {
    const greedy = [3, 4, 5, 6, 7].map((usedAt) => view(list(`greedy/${usedAt}`), usedAt));
    expect(evicted([view(list('victim/a'), 1), view(list('victim/b'), 2), ...greedy])).toEqual([3, 4, 5]);
  });

  it('never returns shared views, nor lists that the kubelet depends on', () => {
    const vital = [PODS, SECRETS, CONFIG_MAPS].map((resource, i) => view(list('node', resource), i));
    const shared = [1, 2, 3, 4, 5, 6].map((usedAt) => view(list(SHARED), usedAt, { bytes: 1_000 }));
    const many = [21, 22, 23].map((usedAt) => view(list('a'), usedAt));
    expect(evicted([...vital, ...shared, ...many])).toEqual([21]);
  });

  it('counts single objects separately', () => {
    const singles = [1, 2, 3].map((usedAt) => view(single('a', `s${usedAt}`), usedAt));
    expect(evicted([...singles, view(list('a'), 0), view(list('a'), 0)])).toEqual([1]);
  });

  it('never returns single objects of the node for those of clients', () => {
    const ofNode = [1, 2, 3, 4].map((usedAt) => view(single('node', `n${usedAt}`), usedAt));
    const ofClients = [5, 6, 7, 8, 9].map((usedAt) => view(single(`c/${usedAt}`, 's'), usedAt));
    expect(evicted([...ofNode, ...ofClients])).toEqual([5]);
  });

  it('returns single objects of the node from the namespace with the most', () => {
    const many = [2, 3, 4, 5].map((usedAt) => view(single('node', `s${usedAt}`, 'greedy'), usedAt));
    expect(evicted([view(single('node', 's', 'victim'), 1), ...many])).toEqual([2]);
  });

  it('returns single objects of a client from the namespace with the most', () => {
    const views = [view(single('router', 'v', 'victim'), 1), view(single('router', 'a', 'greedy'), 2)];
    expect(evicted([...views, view(single('router', 'b', 'greedy'), 3)])).toEqual([2]);
  });

  it('returns idle views until the rest of the client is within the size limit', () => {
    const heavy = (usedAt: number, busy = false, identity = 'a') =>
      view(list(identity), usedAt, { bytes: 60, busy });
    expect(evicted([heavy(1), heavy(2)])).toEqual([1]);
    expect(evicted([heavy(1, true), heavy(2)])).toEqual([]);
    expect(evicted([view(list('node', PODS), 1, { bytes: 600 }), heavy(2)])).toEqual([]);
    const sybils = [2, 3, 4].map((usedAt) => heavy(usedAt, false, `greedy/${usedAt}`));
    expect(evicted([heavy(1, false, 'victim'), ...sybils])).toEqual([2]);
  });
});
