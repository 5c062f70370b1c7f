/** A DurableMap on a real file system that is filled and freed. */
import { readdirSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { DurableMap, type DurableMapOptions } from './durable-map.ts';
import { recordingLogger, smallDisk } from './testing.ts';

async function mapOnSmallDisk(options: DurableMapOptions = {}) {
  const disk = await smallDisk();
  const log = recordingLogger();
  const path = join(disk.directory, 'map');
  const map = await DurableMap.open(path, { log, ...options });
  // Not an error of the test: a map whose disk is full reports that at the end too.
  onTestFinished(() => map.close().catch(() => {}));
  return { disk, log, path, map };
}

const kilobytes = (count: number, text = 'x') => Buffer.from(text.repeat(count << 10));
const read = async (map: DurableMap, key: string) => (await map.get(key))?.toString('utf8', 0, 3);

it('keeps changes in memory while the disk is full, and writes them by itself when there is space', async () => {
  const { disk, log, path, map } = await mapOnSmallDisk();
  map.put('a', Buffer.from('old'));
  await map.flush();
  disk.fill(8 << 10);

  map.put('a', kilobytes(64, 'new'));
  const message = `no space left on the file system of ${disk.directory}: free some space and try again`;
  await expect(map.flush()).rejects.toMatchObject({ code: 'full', message });
  expect(map.trouble?.message).toBe(message);
  expect(await read(map, 'a')).toBe('new');

  disk.free();
  await expect.poll(() => map.trouble).toBeUndefined();
  expect(log.messages).toEqual(['cannot write to the file; retrying', 'writing to the file works again']);
  await map.close();
  const again = await DurableMap.open(path);
  expect(await read(again, 'a')).toBe('new');
  await again.close();
});

it('takes a refused change back if asked to, and notices by itself that there is space again', async () => {
  const { disk, path, map } = await mapOnSmallDisk({ refusedPuts: 'undo' });
  map.put('a', Buffer.from('old'));
  map.put('gone', Buffer.from('old'));
  await map.flush();
  disk.fill();

  map.put('a', kilobytes(64, 'new'));
  map.put('b', kilobytes(64, 'new'));
  map.delete('gone');
  await expect(map.flush()).rejects.toMatchObject({ code: 'full' });
  expect(await read(map, 'a')).toBe('old');
  expect(map.keys()).toEqual(['a']);

  disk.free();
  await expect.poll(() => map.trouble).toBeUndefined();
  await map.close();
  const again = await DurableMap.open(path);
  expect(again.keys()).toEqual(['a']);
  expect(await read(again, 'a')).toBe('old');
  await again.close();
});

it('does not rewrite the file when the copy would fill the disk', async () => {
  const { disk, log, path, map } = await mapOnSmallDisk({ leastGarbage: 64 << 10 });
  map.put('kept', kilobytes(100));
  await map.flush();
  disk.fill(1 << 20);
  for (let turn = 0; turn < 10; turn += 1) {
    map.put('changing', kilobytes(40));
    await map.flush();
  }
  expect(log.messages).toContain('cannot rewrite the file; it keeps growing');
  expect(map.trouble).toBeUndefined();

  disk.free();
  // Each change gives it a reason to look. A rewrite on a busy machine can take as long as many changes.
  const sizeAfterChange = async () => {
    map.put('changing', kilobytes(40));
    await map.flush();
    return (await stat(path)).size;
  };
  await expect.poll(sizeAfterChange).toBeLessThan(400 << 10);
  await map.close();
});

it('starts with one sentence, and leaves no file behind', async () => {
  const disk = await smallDisk();
  disk.fill();
  const message = `no space left on the file system of ${disk.directory}: free some space and try again`;
  await expect(DurableMap.open(join(disk.directory, 'map'))).rejects.toMatchObject({ message });
  expect(readdirSync(disk.directory)).toEqual(['filler']);
});
