import { describe, expect, it } from 'vitest';
import { Allowance } from './allowance.ts';
import { excess } from './excess.ts';
import { FairMap } from './fair-map.ts';
import { type Holder, tenantOfUser } from './holder.ts';

const holder = (identity: string, tenant = identity): Holder => ({ identity, tenant });

describe('the tenant of a user', () => {
  it('is the namespace of a service account, or else the user', () => {
    expect(tenantOfUser('system:serviceaccount:shop:web')).toBe(
      tenantOfUser('system:serviceaccount:shop:db'),
    );
    expect(tenantOfUser('system:serviceaccount:shop:web')).not.toBe(tenantOfUser('shop'));
    expect(tenantOfUser('jane')).not.toBe(tenantOfUser('joe'));
    expect(tenantOfUser('system:serviceaccount:shop')).not.toBe(
      tenantOfUser('system:serviceaccount:shop:web'),
    );
  });
});

describe('a fair map', () => {
  it('evicts within the identity that adds too much, the least recently set first', () => {
    const evicted: string[] = [];
    const map = new FairMap<number>({ perIdentity: 3, total: 100 }, (key) => evicted.push(key));
    map.set('other', 0, holder('other'));
    for (let i = 0; i < 4; i++) map.set(`a${i}`, i, holder('a'));
    map.set('a1', 1, holder('a'));
    map.set('a4', 4, holder('a'));
    expect(evicted).toEqual(['a0', 'a2']);
    expect([...map.entries()].sort()).toEqual([
      ['a1', 1],
      ['a3', 3],
      ['a4', 4],
      ['other', 0],
    ]);
  });

  it('stays bounded with many identities, and evicts from the tenant with the most entries', () => {
    const map = new FairMap<number>({ perIdentity: 10, total: 100 });
    for (let i = 0; i < 5; i++) map.set(`victim-${i}`, i, holder('victim'));
    for (let i = 0; i < 1_000; i++) map.set(`sybil-${i}`, i, holder(`sybil-${i}`, 'greedy'));
    expect(map.size).toBe(100);
    expect(map.keysOf('victim').length).toBe(5);
    expect(map.has('sybil-999')).toBe(true);
  });

  it('evicts the largest identity of the largest tenant', () => {
    const map = new FairMap<number>({ perIdentity: 10, total: 10 });
    map.set('quiet', 0, holder('quiet', 'shop'));
    for (let i = 0; i < 20; i++) map.set(`loud-${i}`, i, holder(`loud-${i % 2}`, 'shop'));
    expect(map.has('quiet')).toBe(true);
    expect(map.size).toBe(10);
  });

  it('moves the entries of an identity whose tenant becomes known', () => {
    const map = new FairMap<number>({ perIdentity: 10, total: 6 });
    for (let i = 0; i < 3; i++) map.set(`a${i}`, i, holder('a', 'unknown'));
    map.set('a0', 0, holder('a', 'greedy'));
    for (let i = 0; i < 3; i++) map.set(`b${i}`, i, holder('b', 'greedy'));
    map.set('c', 0, holder('c', 'victim'));
    expect(map.has('c')).toBe(true);
    expect(map.keysOf('a').length + map.keysOf('b').length).toBe(5);
    for (const key of [...map.keys()]) map.delete(key);
    expect([map.size, map.keysOf('a')]).toEqual([0, []]);
  });
});

describe('the excess', () => {
  let rank = 0;
  const piece = (item: string, identity: string, weight = 1, tenant = identity) => ({
    item,
    holder: holder(identity, tenant),
    weight,
    rank: rank++,
  });

  it('is what an identity has above its limit, the lowest rank first', () => {
    const pieces = [piece('a1', 'a'), piece('b1', 'b'), piece('a2', 'a'), piece('a3', 'a')];
    expect(excess(pieces.toReversed(), { perIdentity: 2, total: 10 })).toEqual(['a1']);
    expect(excess(pieces, { perIdentity: 3, total: 10 })).toEqual([]);
  });

  it('is taken from the largest tenant if all together have too much', () => {
    const pieces = [piece('v', 'v'), ...[1, 2, 3].map((i) => piece(`s${i}`, `s${i}`, 1, 'greedy'))];
    expect(excess(pieces, { perIdentity: 2, total: 2 })).toEqual(['s1', 's2']);
  });

  it('counts weights, and keeps what has none', () => {
    const pieces = [piece('empty', 'a', 0), piece('heavy', 'a', 60), piece('light', 'b', 50)];
    expect(excess(pieces, { perIdentity: 60, total: 100 })).toEqual(['heavy']);
    expect(excess(pieces, { perIdentity: 0, total: 0 })).toEqual(['heavy', 'light']);
  });
});

describe('an allowance', () => {
  it('has a limit for each identity', () => {
    const allowance = new Allowance({ perIdentity: 2, total: 10 });
    const accounts = [1, 2, 3].map(() => allowance.open(holder('a'), 1));
    expect(accounts.map((account) => account !== undefined)).toEqual([true, true, false]);
    expect(allowance.open(holder('b'), 2)).toBeDefined();
    accounts[0]!.close();
    accounts[0]!.close();
    expect(allowance.open(holder('a'), 1)).toBeDefined();
    expect(allowance.open(holder('a'), 1)).toBeUndefined();
  });

  it('limits how an account grows, but not how it shrinks', () => {
    const allowance = new Allowance({ perIdentity: 10, total: 100 });
    const first = allowance.openAnyway(holder('a'), 12);
    const second = allowance.openAnyway(holder('a'));
    expect([second.resize(1), first.resize(13), first.resize(6), second.resize(4)]).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect([second.resize(5), second.resize(0), first.resize(10)]).toEqual([false, true, true]);
    first.close();
    expect([first.resize(50), allowance.allows(holder('a'), 10)]).toEqual([true, true]);
  });

  it('gives a tenant its share also if another has used up the total', () => {
    const allowance = new Allowance({ perIdentity: 5, total: 10 });
    for (let i = 0; i < 20; i++) allowance.open(holder(`sybil-${i}`, 'greedy'), 1);
    expect(allowance.allows(holder('sybil-20', 'greedy'), 1)).toBe(false);
    const granted = Array.from({ length: 6 }, () => allowance.open(holder('victim'), 1) !== undefined);
    expect(granted).toEqual([true, true, true, true, true, false]);
  });
});
