import { describe, expect, it } from 'vitest';
import { applyDelta, EMPTY_TABLE } from '../../ingress/match/index.ts';
import type { Delta, HostRoutes, Upstream } from '../../ingress/model.ts';
import { changesOf, changesOfAll, inverseOf, lineOf } from './changes.ts';
import { hostText } from './host-text.ts';

const NONE = { set: [], remove: [] };
const upstream = (id: string, port = 80): Upstream => ({
  id,
  namespace: 'n',
  service: id,
  protocol: 'http',
  balance: 'roundRobin',
  endpoints: [{ address: '10.0.0.1', port }],
});
const host = (name: string, namespace = 'n'): HostRoutes => ({ host: name, namespace, routes: [] });
const delta = (from: number, more: Partial<Delta>): Delta => ({
  from,
  to: from + 1,
  hosts: NONE,
  upstreams: NONE,
  certificates: NONE,
  ...more,
});
const certificate = { host: '', secret: 'n/t', certificate: 'C', key: 'K', fingerprint: 'f' };

const first = delta(0, {
  hosts: { set: [host('a.io'), host('')], remove: [] },
  upstreams: { set: [upstream('p'), upstream('q')], remove: [] },
  certificates: { set: [certificate], remove: [] },
});
const table = applyDelta(EMPTY_TABLE, first);
const keys = (changes: ReturnType<typeof changesOf>): string[] =>
  changes.map(({ dictionary, key, value }) => `${value === undefined ? '-' : '='}${dictionary} ${key}`);

describe('changes', () => {
  it('writes upstreams before the hosts that name them, and deletes them after', () => {
    const next = delta(1, {
      hosts: { set: [host('b.io')], remove: ['a.io'] },
      upstreams: { set: [upstream('r')], remove: ['p'] },
    });
    expect(keys(changesOf(table, applyDelta(table, next), next))).toEqual([
      '=upstreams r',
      '=hosts b.io',
      '-hosts a.io',
      '-upstreams p',
    ]);
  });

  it('writes only the differences of a full state', () => {
    const whole = delta(0, {
      hosts: { set: [host('a.io'), host('c.io')], remove: [] },
      upstreams: { set: [upstream('p'), upstream('q', 81)], remove: [] },
    });
    expect(keys(changesOf(table, applyDelta(table, whole), whole)).sort()).toEqual([
      '-certificates *',
      '-hosts *',
      '=hosts c.io',
      '=upstreams q',
    ]);
  });

  it('writes everything for a new nginx', () => {
    expect(keys(changesOfAll(table)).sort()).toEqual([
      '=certificates *',
      '=hosts *',
      '=hosts a.io',
      '=upstreams p',
      '=upstreams q',
    ]);
  });

  it('undoes changes, deletions first', () => {
    const next = delta(1, { hosts: { set: [host('a.io', 'other'), host('b.io')], remove: [''] } });
    const back = inverseOf(changesOf(table, applyDelta(table, next), next), table);
    expect(keys(back)).toEqual(['-hosts b.io', '=hosts a.io', '=hosts *']);
    expect(back[1]?.value).toBe(hostText(host('a.io')));
  });

  it('writes one line per change, whatever the key contains', () => {
    const line = lineOf({ dictionary: 'hosts', key: 'a\tb\nc\\', value: '{}' });
    expect(line).toBe('=\thosts\ta\\tb\\nc\\\\\t{}\n');
  });
});
