import { PODS, SECRETS, SERVICES } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { type ViewLimits, victims } from './eviction.ts';
import type { ViewKey } from './view.ts';
import { singleKey } from './view-key.ts';

const LIMITS: ViewLimits = { viewBytes: 100, idleBytes: 100, lists: 2, singles: 2 };

const list = (identity: string, resource = SERVICES as ViewKey['resource']): ViewKey => ({
  identity,
  resource,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
});
const view = (key: ViewKey, usedAt: number, options: { busy?: boolean; bytes?: number } = {}) => ({
  key,
  usedAt,
  isIdle: options.busy !== true,
  progress: { bytes: options.bytes ?? 1 },
});
const evicted = (views: ReturnType<typeof view>[]): number[] =>
  victims(views, LIMITS).map(({ usedAt }) => usedAt);

describe('victims', () => {
  it('returns nothing while all views are within the limits', () => {
    expect(evicted([view(list('a'), 1), view(list('b'), 2)])).toEqual([]);
  });

  it('returns the least recently used views, and skips views that are in use', () => {
    const views = [
      view(list('a'), 4),
      view(list('b'), 1, { busy: true }),
      view(list('c'), 3),
      view(list('d'), 2),
    ];
    expect(evicted(views)).toEqual([2, 3]);
  });

  it('never returns lists that the kubelet depends on', () => {
    const views = [view(list('node', PODS), 1), view(list('node', SECRETS), 2), view(list('a'), 3)];
    expect(evicted(views)).toEqual([3]);
  });

  it('counts single objects separately, and returns those of the node last', () => {
    const single = (identity: string, name: string) => singleKey(identity, SECRETS, 'default', name);
    const views = [view(single('node', 'a'), 1), view(single('node', 'b'), 2), view(single('x', 'c'), 3)];
    expect(evicted([...views, view(list('a'), 0), view(list('b'), 0)])).toEqual([3]);
    expect(evicted([...views, view(single('node', 'd'), 4)])).toEqual([3, 1]);
  });

  it('returns idle views until the rest is within the size limit', () => {
    const heavy = (usedAt: number, busy = false) => view(list(`${usedAt}`), usedAt, { bytes: 60, busy });
    expect(evicted([heavy(1), heavy(2)])).toEqual([1]);
    expect(evicted([heavy(1, true), heavy(2)])).toEqual([]);
    expect(evicted([view(list('node', PODS), 1, { bytes: 600 }), heavy(2)])).toEqual([]);
  });
});
