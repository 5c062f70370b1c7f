import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import { TokenMemory } from './token-memory.ts';

it('forgets the oldest acceptance if there are too many, and no rejection for it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
  const memory = await DurableMap.open(join(directory, 'memory'));
  const clock = new VirtualClock();
  const tokens = await TokenMemory.open({ memory, clock, online: () => true });
  tokens.remember('bad', 'rejected', clock.now() + 1_000_000);
  for (let i = 0; i < 2_500; i++) tokens.remember(`good-${i}`, 'accepted');
  expect(memory.keys('tokens/decision/').length).toBe(2_000);
  expect(['bad', 'good-0', 'good-2499'].map((key) => tokens.decisionOn(key))).toEqual([
    'rejected',
    undefined,
    'accepted',
  ]);
  await memory.close();
  await rm(directory, { recursive: true });
});
