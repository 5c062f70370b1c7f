import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { VirtualClock } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TokenMemory } from './token-memory.ts';

const HOUR_MS = 3_600_000;
const TENANT = 'system:serviceaccount:tenant:app';
const OTHER = 'system:serviceaccount:other:app';

describe('the memory of tokens', () => {
  let directory: string;
  let memory: DurableMap;
  let tokens: TokenMemory;
  const clock = new VirtualClock();
  const restart = async (): Promise<void> => {
    await memory?.close();
    memory = await DurableMap.open(join(directory, 'memory'));
    tokens = await TokenMemory.open({ memory, clock, online: () => true });
  };
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
    await restart();
  });
  afterEach(async () => {
    await memory.close();
    await rm(directory, { recursive: true });
  });

  it('keeps the acceptances of other users when a user presents many tokens', async () => {
    tokens.accept('jane', 'jane');
    tokens.accept('sibling', 'system:serviceaccount:tenant:sibling');
    for (let i = 0; i < 6_000; i++) tokens.accept(`many-${i}`, TENANT);
    await restart();
    expect(['jane', 'sibling', 'many-0', 'many-5999'].map((key) => tokens.decisionOn(key))).toEqual([
      'accepted',
      'accepted',
      undefined,
      'accepted',
    ]);
    expect(memory.keys('tokens/decision/').length).toBe(502);
    expect([tokens.userOf('jane'), tokens.userOf('many-0')]).toEqual(['jane', '']);
  });

  it('stays bounded with many accounts, and takes from the tenant with the most', () => {
    for (const user of ['jane', OTHER]) tokens.accept(user, user);
    for (let i = 0; i < 6_000; i++) tokens.accept(`many-${i}`, `system:serviceaccount:tenant:app-${i}`);
    expect(['jane', OTHER].map((key) => tokens.decisionOn(key))).toEqual(['accepted', 'accepted']);
    expect(memory.keys('tokens/decision/').length).toBe(5_000);
  });

  it('keeps acceptances when a user has many rejected tokens', () => {
    tokens.accept('jane', 'jane');
    for (let i = 0; i < 6_000; i++) tokens.reject(`bad-${i}`, TENANT, clock.now() + HOUR_MS);
    expect(tokens.decisionOn('jane')).toBe('accepted');
    expect(memory.keys('tokens/decision/').length).toBe(201);
  });

  it('refuses all tokens of a tenant that expire with a rejected one that it could not keep', async () => {
    const expires = clock.now() + HOUR_MS;
    for (let i = 0; i < 200; i++) tokens.reject(`bad-${i}`, TENANT, expires);
    expect(tokens.isBelowFloor(TENANT, expires)).toBe(false);
    tokens.reject('bad-200', TENANT, expires + HOUR_MS);
    expect(tokens.decisionOn('bad-0')).toBe(undefined);
    await restart();
    expect(tokens.isBelowFloor(TENANT, expires)).toBe(true);
    expect(tokens.isBelowFloor(TENANT, expires + 1)).toBe(false);
    expect(tokens.isBelowFloor(OTHER, expires)).toBe(false);
  });
});
