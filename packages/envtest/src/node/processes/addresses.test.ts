import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Addresses } from './addresses.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-addresses-'));
});
afterAll(() => rm(directory, { recursive: true }));

test('allocates an address from the range, keeps it, and does not reuse it immediately', async () => {
  const file = join(directory, 'rest.json');
  const addresses = await Addresses.open(file);
  const cidr = '127.64.3.0/24';
  expect(await addresses.allocate('a', cidr)).toBe('127.64.3.2');
  expect(await addresses.allocate('b', cidr)).toBe('127.64.3.3');
  expect(await addresses.allocate('a', cidr)).toBe('127.64.3.2');
  await addresses.release('a');
  expect(await addresses.allocate('c', cidr)).toBe('127.64.3.4');
  const reopened = await Addresses.open(file);
  expect(await reopened.allocate('b', cidr)).toBe('127.64.3.3');
  expect(await reopened.allocate('d', cidr)).toBe('127.64.3.5');
});

test('allocates other addresses when all were released', async () => {
  const addresses = await Addresses.open(join(directory, 'released.json'));
  const cidr = '127.64.4.0/24';
  expect(await addresses.allocate('a', cidr)).toBe('127.64.4.2');
  expect(await addresses.allocate('b', cidr)).toBe('127.64.4.3');
  await addresses.releaseAll();
  expect(await addresses.allocate('b', cidr)).toBe('127.64.4.4');
  expect(await addresses.allocate('a', cidr)).toBe('127.64.4.5');
});

test('allocates no address twice, and none when all are in use', async () => {
  const file = join(directory, 'all.json');
  const addresses = await Addresses.open(file);
  // Of the 8 addresses, the first two and the last are not for pods.
  const given = await Promise.all(
    ['a', 'b', 'c', 'd', 'e', 'f'].map((uid) => addresses.allocate(uid, '10.0.0.0/29')),
  );
  expect(given).toEqual(['10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6', undefined]);
});

test('writes again after a failed write', async () => {
  const inTheWay = join(directory, 'folder');
  const addresses = await Addresses.open(join(inTheWay, 'addresses.json'));
  await writeFile(inTheWay, '');
  await expect(addresses.allocate('a', '127.64.3.0/24')).rejects.toThrow();
  await rm(inTheWay);
  expect(await addresses.allocate('b', '127.64.3.0/24')).toBe('127.64.3.3');
  const reopened = await Addresses.open(join(inTheWay, 'addresses.json'));
  expect(await reopened.allocate('a', '127.64.3.0/24')).toBe('127.64.3.2');
});

test('never shares an address between two pods', async () => {
  const steps = fc.array(fc.record({ uid: fc.integer({ min: 0, max: 7 }), stays: fc.boolean() }));
  let run = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const addresses = await Addresses.open(join(directory, `random-${run++}.json`));
      const held = new Map<number, string>();
      for (const { uid, stays } of sequence) {
        if (!stays) {
          await addresses.release(String(uid));
          held.delete(uid);
          continue;
        }
        const address = await addresses.allocate(String(uid), '10.0.0.0/29');
        if (address === undefined) expect(held.size).toBe(5);
        else held.set(uid, address);
      }
      expect(new Set(held.values()).size).toBe(held.size);
    }),
    { numRuns: 30 },
  );
});

test('reports what to do with a damaged file', async () => {
  const file = join(directory, 'broken.json');
  await writeFile(file, '{');
  await expect(Addresses.open(file)).rejects.toThrow(/cannot read .*broken\.json: .* Remove the file/);
});
