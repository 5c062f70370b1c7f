import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DurableMap, type DurableMapOptions } from './durable-map.ts';
import { openFile } from './output-file.ts';
import { failingDisk, recordingLogger, temporaryDirectory } from './testing.ts';

const NEVER = { after: () => () => {} };

async function newMap(options: DurableMapOptions = {}) {
  const path = join(await temporaryDirectory(), 'map');
  return { path, map: await openMap(path, options) };
}

async function openMap(path: string, options: DurableMapOptions = {}): Promise<DurableMap> {
  const map = await DurableMap.open(path, { log: recordingLogger(), clock: NEVER, ...options });
  onTestFinished(() => map.close().catch(() => {}));
  return map;
}

async function contentOf(map: DurableMap, prefix?: string): Promise<Record<string, string>> {
  const content: Record<string, string> = {};
  for await (const [key, value] of map.entries(prefix)) content[key] = String(value);
  return content;
}

const bytes = (text: string): Buffer => Buffer.from(text);

describe('a durable map', () => {
  it('shows changes immediately and has them after a restart', async () => {
    const { path, map } = await newMap();
    map.put('a/1', bytes('one'));
    map.put('a/2', bytes('two'));
    map.put('b/ü', bytes(''));
    expect(await contentOf(map, 'a/')).toEqual({ 'a/1': 'one', 'a/2': 'two' });
    await map.flush();
    map.put('a/1', bytes('new'));
    map.delete('a/2');
    expect(map.has('a/2')).toBe(false);
    expect(map.keys().sort()).toEqual(['a/1', 'b/ü']);
    await map.close();

    const again = await openMap(path);
    expect(await contentOf(again)).toEqual({ 'a/1': 'new', 'b/ü': '' });
    again.deletePrefix('a/');
    again.put('a/3', bytes('three'));
    expect(await again.get('a/1')).toBeUndefined();
    expect(await contentOf(again)).toEqual({ 'a/3': 'three', 'b/ü': '' });
  });

  it('is readable only by its owner', async () => {
    const { path } = await newMap();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it('writes after a delay, with all changes in one frame', async () => {
    const fires: (() => void)[] = [];
    const clock = {
      after: (_ms: number, fire: () => void) => {
        fires.push(fire);
        return () => {};
      },
    };
    const { path, map } = await newMap({ clock });
    map.put('a', bytes('1'));
    map.put('b', bytes('2'));
    expect(fires).toHaveLength(1);
    const { size } = await stat(path);
    fires[0]?.();
    await map.flush();
    expect((await stat(path)).size).toBeGreaterThan(size);
    expect(await contentOf(await copyOf(path))).toEqual({ a: '1', b: '2' });
  });

  it('considers a change durable only after a sync', async () => {
    const disk = failingDisk();
    const { map } = await newMap({ openOutput: disk.openOutput });
    let release = (): void => {};
    disk.busy = new Promise((resolve) => {
      release = resolve;
    });
    map.put('a', bytes('1'));
    let done = false;
    const flushed = map.flush().then(() => {
      done = true;
    });
    await new Promise(setImmediate);
    map.put('a', bytes('2'));
    expect(String(await map.get('a'))).toBe('2');
    expect(done).toBe(false);
    release();
    await flushed;
    expect(String(await map.get('a'))).toBe('2');
  });

  it('rejects changes after it was closed', async () => {
    const { map } = await newMap();
    await map.close();
    expect(() => map.put('a', bytes('1'))).toThrow(expect.objectContaining({ code: 'closed' }));
  });

  it('rejects a key that is too long', async () => {
    const { map } = await newMap();
    expect(() => map.put('k'.repeat(70_000), bytes(''))).toThrow('at most 65535 bytes');
  });
});

/** The state that a new process finds if this one is killed now. */
async function copyOf(path: string, length?: number): Promise<DurableMap> {
  const copy = join(await temporaryDirectory(), 'map');
  const content = await readFile(path);
  await writeFile(copy, content.subarray(0, length ?? content.length));
  return openMap(copy);
}

describe('a damaged file', () => {
  it('whose last frame is torn loses only that frame', async () => {
    const { path, map } = await newMap();
    map.put('a', bytes('1'));
    await map.flush();
    const { size } = await stat(path);
    map.put('a', bytes('2'));
    map.put('b', bytes('2'));
    await map.flush();
    const end = (await stat(path)).size;
    for (let length = size; length < end; length += 1)
      expect(await contentOf(await copyOf(path, length))).toEqual({ a: '1' });
  });

  it('is rejected, with file and offset, when intact frames follow the damage', async () => {
    const { path, map } = await newMap();
    map.put('a', bytes('first'));
    await map.flush();
    const { size } = await stat(path);
    map.put('b', bytes('second'));
    await map.flush();
    map.put('c', bytes('third'));
    await map.close();
    const file = await open(path, 'r+');
    await file.write(bytes('x'), 0, 1, size + 14);
    await file.close();
    await expect(openMap(path)).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining(`${path} is damaged at byte ${size}: a checksum is wrong`),
    });
  });

  it('of another format is rejected', async () => {
    const path = join(await temporaryDirectory(), 'map');
    await writeFile(path, 'something else entirely');
    await expect(openMap(path)).rejects.toMatchObject({ code: 'corrupt' });
    expect(await readFile(path, 'utf8')).toBe('something else entirely');
  });
});

describe('a failing disk', () => {
  it('is reported, and the changes are written when it works again', async () => {
    const disk = failingDisk();
    const log = recordingLogger();
    const failures: string[] = [];
    const onFailure = (error: { code: string }) => failures.push(error.code);
    const { path, map } = await newMap({ openOutput: disk.openOutput, log, onFailure });
    map.put('a', bytes('1'));
    await map.flush();

    disk.refused.set('write', 'ENOSPC');
    // The part that was written cannot be cut off yet, so the next write fails for that reason.
    disk.refused.set('truncate', 'EIO');
    map.put('a', bytes('2'));
    map.put('b', bytes('2'));
    await expect(map.flush()).rejects.toMatchObject({
      code: 'full',
      message: expect.stringContaining('no space left'),
    });
    map.put('b', bytes('3'));
    await expect(map.flush()).rejects.toMatchObject({ code: 'io' });
    expect(failures).toEqual(['full', 'io']);
    expect(log.messages).toEqual(['cannot write to the file; retrying']);
    expect(await contentOf(map)).toEqual({ a: '2', b: '3' });
    expect(await contentOf(await copyOf(path))).toEqual({ a: '1' });

    disk.refused.clear();
    await map.flush();
    expect(log.messages).toContain('writing to the file works again');
    expect(await contentOf(await copyOf(path))).toEqual({ a: '2', b: '3' });
  });

  it('is retried automatically', async () => {
    const disk = failingDisk();
    const waits: [number, () => void][] = [];
    const clock = {
      after: (ms: number, fire: () => void) => {
        waits.push([ms, fire]);
        return () => {};
      },
    };
    const { path, map } = await newMap({ openOutput: disk.openOutput, clock });
    disk.refused.set('datasync', 'EIO');
    map.put('a', bytes('1'));
    await expect(map.flush()).rejects.toMatchObject({ code: 'io' });
    disk.refused.clear();
    expect(waits.map(([ms]) => ms)).toEqual([100, 1000]);
    waits[1]?.[1]();
    await map.flush();
    expect(await contentOf(await copyOf(path))).toEqual({ a: '1' });
  });

  it('makes close fail if the last changes are lost', async () => {
    const disk = failingDisk();
    const { map } = await newMap({ openOutput: disk.openOutput });
    map.put('a', bytes('1'));
    disk.refused.set('write', 'ENOSPC');
    await expect(map.close()).rejects.toMatchObject({ code: 'full' });
  });
});

describe('rewriting', () => {
  const filler = 'x'.repeat(500);

  async function overwrite(map: DurableMap, times: number): Promise<void> {
    for (let turn = 0; turn < times; turn += 1) {
      map.put(`k${turn % 3}`, bytes(`${turn} ${filler}`));
      await map.flush();
    }
  }

  it('keeps the file in proportion to its content', async () => {
    const { path, map } = await newMap({ leastGarbage: 4096 });
    map.put('kept', bytes('for ever'));
    await overwrite(map, 200);
    await map.close();
    expect((await stat(path)).size).toBeLessThan(20_000);
    expect(Object.keys(await contentOf(await openMap(path))).sort()).toEqual(['k0', 'k1', 'k2', 'kept']);
    expect(await readdir(join(path, '..'))).toEqual(['map']);
  });

  it('does not disturb running reads', async () => {
    const { map } = await newMap({ leastGarbage: 4096 });
    map.put('kept', bytes('for ever'));
    const reads: Promise<Buffer | undefined>[] = [];
    for (let turn = 0; turn < 60; turn += 1) {
      await overwrite(map, 1);
      reads.push(map.get('kept'));
    }
    for (const value of await Promise.all(reads)) expect(String(value)).toBe('for ever');
  });

  it('keeps the old file if it fails', async () => {
    const log = recordingLogger();
    let refuse = false;
    const openOutput = async (path: string) => {
      if (refuse && path.endsWith('.tmp')) throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
      return openFile(path);
    };
    const { path, map } = await newMap({ leastGarbage: 4096, log, openOutput });
    refuse = true;
    await overwrite(map, 60);
    await expect.poll(() => log.messages).toContain('cannot rewrite the file; it keeps growing');
    expect(String(await map.get('k2'))).toBe(`59 ${filler}`);
    refuse = false;
    await overwrite(map, 60);
    await map.close();
    expect(String(await (await openMap(path)).get('k2'))).toBe(`59 ${filler}`);
    expect((await stat(path)).size).toBeLessThan(20_000);
  });

  it('that a crash interrupted is ignored', async () => {
    const { path, map } = await newMap();
    map.put('a', bytes('1'));
    await map.close();
    await writeFile(`${path}.tmp`, 'half of something');
    expect(await contentOf(await openMap(path))).toEqual({ a: '1' });
    expect(await readdir(join(path, '..'))).toEqual(['map']);
  });
});
