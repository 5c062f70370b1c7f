import { expect, it } from 'vitest';
import type { L7Router } from '../../api/index.ts';
import { drainRecord, drainsOf } from './drains.ts';

const routerWith = (draining: NonNullable<L7Router['status']>['draining']): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name: 'gold' },
  spec: { ingressClassName: 'gold', driver: 'nginx' },
  status: { draining },
});

it('groups hosts and Ingresses by time, and reads them again', () => {
  const [first, second] = [Date.parse('2026-01-01T00:00:00Z'), Date.parse('2026-01-01T00:05:00Z')];
  const drains = {
    hosts: new Map([
      ['b.example', first],
      ['a.example', first],
      ['c.example', second],
    ]),
    ingresses: new Map([['shop/web', second]]),
    all: first,
  };
  const record = drainRecord(drains);
  expect(record).toEqual([
    { since: '2026-01-01T00:00:00Z', hosts: ['a.example', 'b.example'], all: true },
    { since: '2026-01-01T00:05:00Z', hosts: ['c.example'], ingresses: ['shop/web'] },
  ]);
  expect(drainsOf(routerWith(record))).toEqual(drains);
});

it('rounds times up, so that no drain time gets shorter', () => {
  const hosts = new Map([['a.example', Date.parse('2026-01-01T00:00:00.001Z')]]);
  expect(drainRecord({ hosts, ingresses: new Map() })[0]?.since).toBe('2026-01-01T00:00:01Z');
});

it('ignores entries without a valid time', () => {
  expect(drainsOf(routerWith([{ since: 'soon', hosts: ['a.example'] }])).hosts.size).toBe(0);
});
