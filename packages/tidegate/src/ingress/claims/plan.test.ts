import { describe, expect, test } from 'vitest';
import { type Ownership, ownershipOf } from '../ownership/index.ts';
import { hostClaim } from '../testing/objects.ts';
import { type Circumstances, newOwners, planClaims } from './plan.ts';

const claim = (namespace: string, host = 'a.io'): Ownership => ownershipOf(hostClaim(host, namespace));
const reserved = (namespace: string, until: number): Ownership => ({
  ...claim(namespace),
  reservedUntil: new Date(until).toISOString(),
});
const always = (): boolean => true;
const never = (): boolean => false;
const NOW = 1_000_000;
const HOUR = 3_600_000;
const wanted: Circumstances = {
  isNamed: always,
  isAllowed: always,
  canReserve: always,
  now: NOW,
  reservationMs: HOUR,
};
const released: Circumstances = { ...wanted, isNamed: never };

describe('a recorded claim', () => {
  test('stays while an Ingress of its namespace names the host', () => {
    const plan = { ended: [], changed: [], nextEnd: undefined };
    expect(planClaims('a.io', [claim('shop')], wanted)).toEqual(plan);
  });

  test('is reserved for its namespace when no Ingress names the host any more', () => {
    expect(planClaims('a.io', [claim('shop')], released)).toEqual({
      ended: [],
      changed: [reserved('shop', NOW + HOUR)],
      nextEnd: NOW + HOUR,
    });
  });

  test('stays reserved until the time that is recorded, and no longer', () => {
    const claims = [reserved('shop', NOW + 1)];
    expect(planClaims('a.io', claims, released)).toEqual({ ended: [], changed: [], nextEnd: NOW + 1 });
    const later = { ...released, now: NOW + 1 };
    expect(planClaims('a.io', claims, later)).toEqual({ ended: claims, changed: [], nextEnd: undefined });
  });

  test('is no longer reserved when its namespace names the host again, also after that time', () => {
    for (const until of [NOW + HOUR, NOW - HOUR])
      expect(planClaims('a.io', [reserved('shop', until)], wanted)).toEqual({
        ended: [],
        changed: [{ ...claim('shop'), reservedUntil: undefined }],
        nextEnd: undefined,
      });
  });

  test.each<[string, Partial<Circumstances>]>([
    ['the policy does not allow it', { isAllowed: never }],
    ['the class reserves nothing', { reservationMs: 0 }],
  ])('ends at once if %s', (_, circumstances) => {
    for (const each of [claim('shop'), reserved('shop', NOW + HOUR)])
      expect(planClaims('a.io', [each], { ...released, ...circumstances }).ended).toEqual([each]);
  });

  test('ends at once if too many are reserved for its namespace, but reserved ones stay', () => {
    const full = { ...released, canReserve: never };
    expect(planClaims('a.io', [claim('shop')], full).ended).toEqual([claim('shop')]);
    expect(planClaims('a.io', [reserved('shop', NOW + HOUR)], full).ended).toEqual([]);
  });
});

test('of several claims to a host the first stays, and all claims to rules without a host', () => {
  expect(planClaims('a.io', [claim('shop'), claim('bank')], wanted).ended).toEqual([claim('bank')]);
  expect(planClaims('a.io', [claim('shop'), claim('bank')], released).ended).toEqual([claim('bank')]);
  expect(planClaims('*', [claim('shop', '*'), claim('bank', '*')], wanted).ended).toEqual([]);
});

test('a free host goes to the first namespace that may have it', () => {
  const isFree = (namespace: string): boolean => namespace !== 'evil';
  expect(newOwners('a.io', ['evil', 'shop', 'bank'], [], isFree)).toEqual(['shop']);
  expect(newOwners('a.io', ['bank'], [claim('shop')], isFree)).toEqual([]);
  expect(newOwners('*', ['evil', 'shop', 'bank'], [claim('shop', '*')], isFree)).toEqual(['bank']);
});
