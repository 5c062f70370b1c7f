import { afterEach, describe, expect, it } from 'vitest';
import { type HeldRange, holdRange } from './range.ts';

const held: HeldRange[] = [];
afterEach(async () => {
  for (const { release } of held.splice(0)) await release();
});

async function hold(...args: Parameters<typeof holdRange>): Promise<number> {
  const range = await holdRange(...args);
  held.push(range);
  return range.range;
}

describe('the address range of a cluster', () => {
  it('is held by one cluster at a time', async () => {
    const first = await hold();
    expect(await hold(first)).not.toBe(first);
    await held.shift()?.release();
    expect(await hold(first)).toBe(first);
  });

  it('is chosen where no program listens', async () => {
    const used = Array.from({ length: 64 }, (_, i) => 64 + i).filter((range) => range !== 93);
    expect(
      await hold(
        undefined,
        used.map((range) => ({ address: `127.${range}.3.2`, port: 80 })),
      ),
    ).toBe(93);
  });

  it('stays the same although pods of the previous run still listen', async () => {
    expect(await hold(93, [{ address: '127.93.1.2', port: 8080 }])).toBe(93);
  });

  it('cannot be chosen when all are in use', async () => {
    const used = Array.from({ length: 64 }, (_, i) => ({ address: `127.${64 + i}.0.1`, port: 1 }));
    await expect(hold(undefined, used)).rejects.toThrow('every address range from 127.64.0.0/16');
  });
});
