import { expect, it } from 'vitest';
import { throttleMs } from '../../ingress/policy/index.ts';
import { Limiter } from './limiter.ts';

it('limits a client as a bucket does, and counts a request in no bucket if another one is full', () => {
  let time = 0;
  const limiter = new Limiter(() => time);
  const limit = {
    requests: [
      { perSecond: 2, burst: 1 },
      { perSecond: 1 / 60, burst: 2 },
    ],
    exempt: [],
  };
  const isServed = (client = '10.0.0.1', zone = 'shop/a') => limiter.begin(limit, zone, client) !== undefined;
  expect([isServed(), isServed(), isServed()]).toEqual([true, true, false]);
  expect([isServed('10.0.0.2'), isServed('10.0.0.1', 'shop/b')]).toEqual([true, true]);
  time += 500;
  expect([isServed(), isServed()]).toEqual([true, false]);
  // The second bucket is full: it has the bursts of the first one only.
  time += 10_000;
  expect(isServed()).toBe(false);
  time += 60_000;
  expect([isServed(), isServed()]).toEqual([true, false]);
});

it('counts requests in progress until they end', () => {
  const limiter = new Limiter(() => 0);
  const limit = { requests: [], connections: 1, exempt: [] };
  const end = limiter.begin(limit, 'z', '::1');
  expect(limiter.begin(limit, 'z', '::1')).toBeUndefined();
  end?.();
  expect(limiter.begin(limit, 'z', '::1')).toBeDefined();
});

it('waits until the bytes of a response are due', () => {
  const throttle = { bytesPerSecond: 1000, after: 500 };
  expect(throttleMs(throttle, 1500, 0)).toBe(0);
  expect(throttleMs(throttle, 3500, 0)).toBe(2000);
  expect(throttleMs(throttle, 3500, 1500)).toBe(500);
  expect(throttleMs(throttle, 3500, 5000)).toBe(0);
});
