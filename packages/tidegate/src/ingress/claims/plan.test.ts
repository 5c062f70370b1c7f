import { expect, test } from 'vitest';
import { ownershipOf } from '../ownership/index.ts';
import { hostClaim } from '../testing/objects.ts';
import { endedClaims, newOwners } from './plan.ts';

const claim = (namespace: string, host = 'a.io') => ownershipOf(hostClaim(host, namespace));
const always = (): boolean => true;

test('a claim ends only when its namespace no longer wants or may have the host', () => {
  expect(endedClaims('a.io', [claim('shop')], always)).toEqual([]);
  expect(endedClaims('a.io', [claim('shop')], (namespace) => namespace !== 'shop')).toEqual([claim('shop')]);
});

test('of several claims to a host the first stays, and all claims to rules without a host', () => {
  expect(endedClaims('a.io', [claim('shop'), claim('bank')], always)).toEqual([claim('bank')]);
  expect(endedClaims('*', [claim('shop', '*'), claim('bank', '*')], always)).toEqual([]);
});

test('a free host goes to the first namespace that may have it', () => {
  const isFree = (namespace: string): boolean => namespace !== 'evil';
  expect(newOwners('a.io', ['evil', 'shop', 'bank'], [], isFree)).toEqual(['shop']);
  expect(newOwners('a.io', ['bank'], [claim('shop')], isFree)).toEqual([]);
  expect(newOwners('*', ['evil', 'shop', 'bank'], [claim('shop', '*')], isFree)).toEqual(['bank']);
});
