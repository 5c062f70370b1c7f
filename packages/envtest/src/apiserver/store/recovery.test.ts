import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { recordingLogger, temporaryDirectory } from '@tidegate/disk/testing';
import { describe, expect, it } from 'vitest';
import { openStore } from './store.ts';
import { line, openTestStore, pod, put, remove } from './testing.ts';

/** A directory whose log has the given number of commits, each of one object. */
async function writtenDirectory(commits: number): Promise<{ directory: string; logFile: string }> {
  const directory = await temporaryDirectory();
  const store = await openTestStore({ directory });
  for (let index = 0; index < commits; index += 1) await put(store, pod(`pod-${index}`), `value ${index}`);
  await store.close();
  return { directory, logFile: join(directory, 'log-0000000000000002') };
}

const filesOf = async (directory: string, kind: string) =>
  (await readdir(directory)).filter((name) => name.startsWith(kind)).sort();

describe('restart', () => {
  it('restores every object, the revision and the history', async () => {
    const directory = await temporaryDirectory();
    const first = await openTestStore({ directory });
    await put(first, pod('a'), '1');
    await put(first, pod('ü', 'x'), '2');
    await remove(first, pod('a'));
    await first.close();

    const second = await openTestStore({ directory });
    expect(second.revision).toBe(4);
    expect(second.get(pod('a'))).toBeUndefined();
    expect(String(second.get(pod('ü', 'x'))?.value)).toBe('2');
    const lines: string[] = [];
    second.watch('pods', { fromRevision: 2 }, (changes) => lines.push(...changes.map(line)));
    expect(lines).toEqual(['3 put x/ü=2', '4 delete default/a=1']);
    expect((await put(second, pod('b'), '')).revision).toBe(5);
  });

  it('never reuses a revision, even if a snapshot follows deletes', async () => {
    const directory = await temporaryDirectory();
    const first = await openTestStore({ directory, snapshotBytes: 1 });
    await put(first, pod('a'), '1');
    await remove(first, pod('a'));
    await put(first, pod('b'), '2');
    await remove(first, pod('b'));
    await first.close();
    const second = await openTestStore({ directory });
    expect(second.revision).toBe(5);
    expect(second.resources()).toEqual([]);
  });

  it('continues from a snapshot without the log before it', async () => {
    const directory = await temporaryDirectory();
    const first = await openTestStore({ directory, snapshotBytes: 2000 });
    for (let index = 0; index < 300; index += 1) await put(first, pod(`pod-${index % 20}`), `value ${index}`);
    await first.close();
    expect(await filesOf(directory, 'snapshot')).toHaveLength(1);
    expect((await filesOf(directory, 'log')).length).toBeLessThanOrEqual(2);

    const second = await openTestStore({ directory });
    expect(second.revision).toBe(301);
    expect(second.compactedRevision).toBeGreaterThan(1);
    expect(
      second
        .list('pods')
        .entries.map((entry) => String(entry.value))
        .sort(),
    ).toEqual(Array.from({ length: 20 }, (_, index) => `value ${280 + index}`));
  });

  it('removes an incomplete snapshot and an incomplete segment that a crash left behind', async () => {
    const { directory } = await writtenDirectory(2);
    await writeFile(join(directory, 'snapshot-0000000000000003.tmp'), 'half');
    await writeFile(join(directory, 'log-0000000000000004'), 'tide');
    const store = await openTestStore({ directory });
    expect(store.revision).toBe(3);
    expect(await filesOf(directory, 'snapshot')).toEqual([]);
    expect(await filesOf(directory, 'log')).toHaveLength(1);
  });
});

describe('a torn end', () => {
  it('is cut off at any offset without losing earlier commits', async () => {
    const { directory, logFile } = await writtenDirectory(2);
    const bytes = await readFile(logFile);
    const ends = commitEnds(bytes);
    const torn = join(directory, 'torn');
    for (let length = 0; length <= bytes.length; length += 1) {
      await mkdir(torn);
      await writeFile(join(torn, 'log-0000000000000002'), bytes.subarray(0, length));
      const whole = ends.filter((end) => end <= length).length;
      const store = await openStore({ directory: torn, log: recordingLogger() });
      expect([length, store.revision, store.count('pods')]).toEqual([length, 1 + whole, whole]);
      await put(store, pod('next'), 'next');
      await store.close();
      const again = await openStore({ directory: torn, log: recordingLogger() });
      expect(again.revision).toBe(2 + whole);
      await again.close();
      await rm(torn, { recursive: true });
    }
  });

  it('can consist of blocks that never reached the disk', async () => {
    const { directory, logFile } = await writtenDirectory(2);
    const bytes = await readFile(logFile);
    await writeFile(logFile, Buffer.concat([bytes, Buffer.alloc(5000)]));
    const log = recordingLogger();
    const store = await openTestStore({ directory, log });
    expect(store.revision).toBe(3);
    expect(log.messages).toEqual(['cut off an incomplete write at the end of the log']);
  });
});

/** Offsets of the ends of all frames in a log. */
function commitEnds(bytes: Buffer): number[] {
  const ends: number[] = [];
  for (let at = 26; at < bytes.length; at = ends.at(-1)!) ends.push(at + 12 + bytes.readUInt32LE(at + 8));
  return ends;
}

describe('damage', () => {
  it('of any byte before the last commit aborts the start and names file and offset', async () => {
    const { directory, logFile } = await writtenDirectory(3);
    const bytes = await readFile(logFile);
    const ends = commitEnds(bytes);
    for (let at = 26; at < ends[1]!; at += 1) {
      const damaged = Buffer.from(bytes);
      damaged[at] = damaged[at]! ^ 0x10;
      await writeFile(logFile, damaged);
      const frameStart = at < ends[0]! ? 26 : ends[0]!;
      await expect(openStore({ directory, log: recordingLogger() })).rejects.toMatchObject({
        code: 'corrupt',
        message: expect.stringContaining(`${logFile} is damaged at byte ${frameStart}:`),
      });
    }
  });

  it('of a header, a missing segment and a renamed segment abort the start', async () => {
    const { directory, logFile } = await writtenDirectory(1);
    const bytes = await readFile(logFile);
    await writeFile(logFile, Buffer.concat([Buffer.from('x'), bytes.subarray(1)]));
    await expect(openStore({ directory })).rejects.toMatchObject({ code: 'corrupt' });
    await writeFile(logFile, bytes);
    await rename(logFile, join(directory, 'log-0000000000000005'));
    await expect(openStore({ directory })).rejects.toThrow(/is missing from revision 2 on/);
    await copyFile(join(directory, 'log-0000000000000005'), join(directory, 'log-0000000000000001'));
    await expect(openStore({ directory })).rejects.toThrow(/its header is for revision 2/);
  });

  it('of a snapshot aborts the start if the log before it was removed', async () => {
    const directory = await temporaryDirectory();
    const store = await openTestStore({ directory, snapshotBytes: 2000 });
    for (let index = 0; index < 100; index += 1) await put(store, pod(`pod-${index % 20}`), `value ${index}`);
    await store.close();
    const snapshot = join(directory, (await filesOf(directory, 'snapshot'))[0]!);
    const bytes = await readFile(snapshot);
    bytes[bytes.length - 1]! ^= 1;
    await writeFile(snapshot, bytes);
    await expect(openStore({ directory, log: recordingLogger() })).rejects.toThrow(`${snapshot} is damaged`);
  });

  it('of a snapshot is harmless while the log is complete', async () => {
    const { directory } = await writtenDirectory(2);
    await writeFile(
      join(directory, 'snapshot-0000000000000003'),
      'tidesnap\u0001\u0000\u0000\u0000, but no more',
    );
    const log = recordingLogger();
    const store = await openTestStore({ directory, log });
    expect(store.revision).toBe(3);
    expect(log.messages).toEqual(['a store snapshot is damaged; trying an older one']);
  });

  it('of a newer format is reported as such', async () => {
    const { directory, logFile } = await writtenDirectory(1);
    const bytes = await readFile(logFile);
    bytes.writeUInt32LE(2, 8);
    await writeFile(logFile, bytes);
    await expect(openStore({ directory })).rejects.toMatchObject({
      code: 'version',
      message: expect.stringContaining('has format 2, but this program reads formats up to 1'),
    });
  });
});
