import { VirtualClock } from '@tidegate/kube/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Balancer } from './balancer.ts';

const endpoints = (count: number): { address: string; port: number }[] =>
  Array.from({ length: count }, (_, i) => ({ address: `127.64.1.${i + 2}`, port: 80 }));

const first = (balancer: Balancer, client = 'c'): string | undefined =>
  balancer.candidates(client)[0]?.address;

describe('a balancer', () => {
  test('gives each endpoint the same share, with all others as fallback', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 5 }), (count, rounds) => {
        const balancer = new Balancer(new VirtualClock());
        balancer.update(endpoints(count), undefined);
        const shares = new Map<string, number>();
        for (let i = 0; i < count * rounds; i++) {
          const candidates = balancer.candidates('c');
          expect(new Set(candidates).size).toBe(count);
          const { address } = candidates[0]!;
          shares.set(address, (shares.get(address) ?? 0) + 1);
        }
        expect([...shares.values()]).toEqual(Array.from({ length: count }, () => rounds));
      }),
    );
  });

  test('sends a client to the same endpoint until the affinity expires or the endpoint is gone', async () => {
    const clock = new VirtualClock();
    const balancer = new Balancer(clock);
    balancer.update(endpoints(3), 10_000);
    const chosen = balancer.candidates('c')[1]!;
    balancer.chosen('c', chosen);
    for (let i = 0; i < 5; i++) expect(first(balancer)).toBe(chosen.address);
    balancer.update(
      endpoints(3).filter(({ address }) => address !== chosen.address),
      10_000,
    );
    expect(first(balancer)).not.toBe(chosen.address);
    balancer.update(endpoints(3), 10_000);
    await clock.advance(10_000);
    expect(new Set([1, 2, 3].map(() => first(balancer))).size).toBe(3);
  });

  test('returns no candidates without endpoints', () => {
    expect(new Balancer(new VirtualClock()).candidates('c')).toEqual([]);
  });
});
