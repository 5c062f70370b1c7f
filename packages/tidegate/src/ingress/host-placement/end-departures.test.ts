import { expect, test } from 'vitest';
import { ingress } from '../testing/objects.ts';
import { Departures } from './departures.ts';
import { departingFrom, endDepartures } from './end-departures.ts';

const MINUTE = 60_000;

test('an Ingress whose new class never gets an address departs in the end', () => {
  let now = 1_000_000_000;
  const departures = new Departures({ cache: { list: () => [] } } as never, () => now);
  const family = { key: 'gold', classNames: ['gold'], settings: { drainMs: 5 * MINUTE } };
  const parts = {
    ingresses: { get: () => ingress({ className: 'silver' }) },
    classes: { families: new Map([['gold', family]]), familyOf: () => ({ key: 'silver' }) },
    routesByFamily: { get: () => undefined, setDeparting: () => {} },
    departures,
    servedBy: { of: () => ({ addresses: [], awaited: [] }) },
  };
  const end = (): number | undefined => endDepartures('gold', now, parts as never);
  departures.add('gold', 'shop/web');
  departures.leave('gold', 'silver');
  const waitEnd = now + 60 * MINUTE;
  expect(end()).toBe(waitEnd);
  now = waitEnd;
  expect(end()).toBe(waitEnd + 5 * MINUTE);
  expect(departures.departingFrom('gold').classes.size).toBe(1);
  now = waitEnd + 5 * MINUTE;
  expect(end()).toBeUndefined();
  expect(departures.departingFrom('gold')).toEqual({ ingresses: new Set(), classes: new Map() });
});

test('a restarted manager continues to wait where it was', () => {
  let now = 1_000_000_000;
  const routes = { get: () => ({ outcomeOf: () => ({ hosts: ['a.io'] }) }) };
  const before = new Departures({ cache: { list: () => [] } } as never, () => now);
  before.add('gold', 'shop/web');
  const record = departingFrom('gold', ['a.io'], { departures: before, routesByFamily: routes as never });
  expect(record.departingSince).toEqual([{ ingress: 'shop/web', since: new Date(now).toISOString() }]);
  const began = now;
  now += 50 * MINUTE;
  const router = (departing: object) => ({
    metadata: { name: 'gold' },
    spec: { ingressClassName: 'gold', hosts: ['a.io'], ...departing },
  });
  const restored = (...routers: object[]): number | undefined => {
    const departures = new Departures({ cache: { list: () => routers } } as never, () => now);
    departures.restore();
    return [...departures.families].flatMap((family) => [...departures.of(family).values()])[0]?.began;
  };
  expect(restored(router(record))).toBe(began);
  // Another router was written by a version without the record.
  expect(restored(router({ departing: ['shop/web'] }), router(record))).toBe(began);
  expect(restored(router({ departing: ['shop/web'] }))).toBe(now);
  const invalid = [{ ingress: 'shop/web', since: 'yesterday' }];
  expect(restored(router({ departing: ['shop/web'], departingSince: invalid }))).toBe(now);
});
