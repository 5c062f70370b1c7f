import { readdir } from 'node:fs/promises';
import { failingDisk, recordingLogger, temporaryDirectory } from '@tidegate/disk/testing';
import { describe, expect, it } from 'vitest';
import { line, openTestStore, pod, put } from './testing.ts';

async function storeOnFailingDisk(snapshotBytes?: number) {
  const directory = await temporaryDirectory();
  const log = recordingLogger();
  const disk = failingDisk();
  const store = await openTestStore({ directory, log, openOutput: disk.openOutput, snapshotBytes });
  return { directory, log, disk, store };
}

describe('a disk that fails', () => {
  it('rejects every queued write, publishes none of them, and recovers when there is space', async () => {
    const { directory, disk, store } = await storeOnFailingDisk();
    await put(store, pod('a'), 'old');
    const lines: string[] = [];
    store.watch('pods', { fromRevision: 2 }, (changes) => lines.push(...changes.map(line)));

    disk.refused.set('write', 'ENOSPC');
    const writes = await Promise.allSettled([put(store, pod('a'), 'lost'), put(store, pod('b'), 'lost')]);
    for (const write of writes) {
      expect(write).toMatchObject({
        status: 'rejected',
        reason: {
          code: 'full',
          message: `no space left on the file system of ${directory}: free some space and try again`,
        },
      });
    }
    expect(store.revision).toBe(2);
    expect(String(store.get(pod('a'))?.value)).toBe('old');
    expect(store.get(pod('b'))).toBeUndefined();

    disk.refused.clear();
    let seen: string | undefined;
    const next = await store.write(pod('a'), (current) => {
      seen = String(current?.value);
      return { type: 'put', value: Buffer.from('new') };
    });
    expect(seen).toBe('old');
    expect(next?.revision).toBe(5);
    expect(lines).toEqual(['5 put default/a=new']);
    await store.close();

    const again = await openTestStore({ directory });
    expect(again.revision).toBe(5);
    expect(again.list('pods').entries.map((entry) => String(entry.value))).toEqual(['new']);
  });

  it('fails writes that are queued behind a failed write', async () => {
    const { disk, store } = await storeOnFailingDisk();
    disk.refused.set('datasync', 'EIO');
    let free = (): void => undefined;
    disk.busy = new Promise((resolve) => {
      free = resolve;
    });
    const first = put(store, pod('a'), 'lost');
    // By now the first write is being synced, and this one is queued.
    await new Promise(setImmediate);
    const second = store.write(pod('a'), (current) => ({
      type: 'put',
      value: Buffer.from(`${current?.value}!`),
    }));
    const kept = store.write(pod('a'), () => ({ type: 'keep' }));
    free();
    const outcomes = await Promise.allSettled([first, second, kept]);
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'io' } });
    disk.refused.clear();
    expect(await store.write(pod('a'), () => ({ type: 'keep' }))).toBeUndefined();
  });

  it('does not append after a torn record that cannot be cut off yet', async () => {
    const { directory, disk, store } = await storeOnFailingDisk();
    await put(store, pod('a'), '1');
    disk.refused.set('datasync', 'EIO');
    await expect(put(store, pod('b'), 'lost')).rejects.toMatchObject({ code: 'io' });
    disk.refused.set('truncate', 'EIO');
    await expect(put(store, pod('c'), 'lost')).rejects.toMatchObject({ code: 'io' });
    disk.refused.clear();
    await put(store, pod('d'), '2');
    await store.close();
    const again = await openTestStore({ directory });
    expect(again.list('pods').entries.map((entry) => entry.name)).toEqual(['a', 'd']);
  });

  it('does not recover a write that was reported as failed', async () => {
    const { directory, disk, store } = await storeOnFailingDisk();
    disk.refused.set('datasync', 'EIO');
    await expect(put(store, pod('a'), 'lost')).rejects.toMatchObject({ code: 'io' });
    disk.refused.clear();
    await store.close();
    const again = await openTestStore({ directory });
    expect(again.get(pod('a'))).toBeUndefined();
  });

  it('keeps accepting writes when the disk has no space for a snapshot', async () => {
    const { directory, disk, log, store } = await storeOnFailingDisk(500);
    disk.refused.set('open', 'ENOSPC');
    for (let index = 0; index < 20; index += 1) await put(store, pod('a'), `value ${index} of some length`);
    expect(log.messages).toContain('cannot start a new log segment; the log keeps growing');
    disk.refused.clear();
    for (let index = 20; index < 60; index += 1) await put(store, pod('a'), `value ${index} of some length`);
    await store.close();
    expect((await readdir(directory)).some((name) => name.startsWith('snapshot-'))).toBe(true);
    const again = await openTestStore({ directory });
    expect(String(again.get(pod('a'))?.value)).toBe('value 59 of some length');
  });
});
