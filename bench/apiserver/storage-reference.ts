import { mkdir } from 'node:fs/promises';
import { ClassicLevel } from 'classic-level';
import { hammer, perSecond } from '../report.ts';

/** The same writes with a database library: every put is synced to disk before it is acknowledged. */
export async function classicLevelWrites(
  directory: string,
  count: number,
  parallel: number,
): Promise<number> {
  await mkdir(directory, { recursive: true });
  const db = new ClassicLevel<string, string>(directory);
  const value = 'x'.repeat(2048);
  try {
    const ms = await hammer(count, parallel, (i) => db.put(`key-${parallel}-${i}`, value, { sync: true }));
    return perSecond(count, ms);
  } finally {
    await db.close();
  }
}
