import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryDirectory } from '@tidegate/disk/testing';
import { describe, expect, it } from 'vitest';
import { names, openTestStore, pod, put, remove } from './testing.ts';
import { CompactedError, FutureRevisionError } from './types.ts';

const newStore = async (historySize?: number) =>
  openTestStore({ directory: await temporaryDirectory(), historySize });

describe('write', () => {
  it('starts at revision 1, because clients read 0 as any version', async () => {
    const store = await newStore();
    expect(store.revision).toBe(1);
    expect((await put(store, pod('a'), 'one')).revision).toBe(2);
    expect(store.revision).toBe(2);
  });

  it('publishes a write only once it is durable', async () => {
    const store = await newStore();
    const written = put(store, pod('a'), 'one');
    expect(store.get(pod('a'))).toBeUndefined();
    expect(store.revision).toBe(1);
    const entry = await written;
    expect(store.get(pod('a'))).toBe(entry);
    expect(String(entry.value)).toBe('one');
  });

  it('passes queued changes to the writer', async () => {
    const store = await newStore();
    const add = () =>
      store.write(pod('a'), (current, revision) => ({
        type: 'put',
        value: Buffer.from(`${current?.value ?? ''}${revision};`),
      }));
    await Promise.all([add(), add(), add()]);
    expect(String(store.get(pod('a'))?.value)).toBe('2;3;4;');
  });

  it('writes nothing when the writer throws, and uses the revision for the next write', async () => {
    const store = await newStore();
    const failing = store.write(pod('a'), () => {
      throw new Error('already exists');
    });
    await expect(failing).rejects.toThrow('already exists');
    expect((await put(store, pod('b'), 'one')).revision).toBe(2);
  });

  it('keeps an object without a new revision, and waits until it is durable', async () => {
    const store = await newStore();
    const first = put(store, pod('a'), 'one');
    let seen: number | undefined;
    const kept = store
      .write(pod('a'), () => ({ type: 'keep' }))
      .then((entry) => {
        seen = store.get(pod('a'))?.revision;
        return entry;
      });
    expect(await kept).toBe(await first);
    expect(seen).toBe(2);
    expect(await store.write(pod('a'), () => ({ type: 'keep' }))).toBe(await first);
    expect(store.revision).toBe(2);
  });

  it('deletes with the last state and a new revision; deleting a missing object changes nothing', async () => {
    const store = await newStore();
    await put(store, pod('a'), 'one');
    const deleted = await store.write(pod('a'), () => ({ type: 'delete', value: Buffer.from('last') }));
    expect(deleted).toMatchObject({ revision: 3, name: 'a' });
    expect(store.get(pod('a'))).toBeUndefined();
    expect(store.resources()).toEqual([]);
    expect(await store.write(pod('a'), () => ({ type: 'delete', value: Buffer.from('') }))).toBeUndefined();
    expect(store.revision).toBe(3);
  });

  it('rejects a write from within a writer', async () => {
    const store = await newStore();
    let inner: Promise<unknown> | undefined;
    const outer = store.write(pod('a'), () => {
      inner = put(store, pod('b'), 'inner');
      return { type: 'put', value: Buffer.from('outer') };
    });
    await expect(outer).rejects.toThrow('must not write');
    await inner;
    expect(store.get(pod('a'))).toBeUndefined();
  });

  it('keeps each value in memory of exactly its size', async () => {
    const store = await newStore();
    const { value } = await put(store, pod('a'), 'small');
    expect(value.buffer.byteLength).toBe(5);
  });

  it('fails to open where no directory can be created', async () => {
    const file = join(await temporaryDirectory(), 'file');
    await writeFile(file, '');
    await expect(openTestStore({ directory: file })).rejects.toMatchObject({
      code: 'io',
      message: expect.stringContaining(`cannot use the data directory ${file}: EEXIST`),
    });
  });

  it('reports when all queued writes are durable', async () => {
    const store = await newStore();
    await store.flushed();
    void put(store, pod('a'), 'one');
    await store.flushed();
    expect(store.get(pod('a'))).toBeDefined();
  });

  it('finishes queued writes on close and rejects later ones', async () => {
    const store = await newStore();
    const queued = put(store, pod('a'), 'one');
    await Promise.all([store.close(), store.close()]);
    expect((await queued).revision).toBe(2);
    await expect(put(store, pod('b'), 'two')).rejects.toMatchObject({ code: 'closed' });
  });
});

describe('list', () => {
  it('returns objects in the order of etcd: by the bytes of namespace/name', async () => {
    const store = await newStore();
    for (const [namespace, name] of [
      ['b', 'x'],
      ['a', 'z'],
      ['a-b', 'x'],
      ['a', 'a'],
      ['aa', 'm'],
    ]) {
      await put(store, pod(name!, namespace), 'v');
    }
    const sorted = ['a-b/x', 'a/a', 'a/z', 'aa/m', 'b/x'];
    expect(names(store.list('pods').entries)).toEqual(sorted);
    await put(store, pod('n', 'a'), 'v');
    expect(names(store.list('pods', { namespace: 'a' }).entries)).toEqual(['a/a', 'a/n', 'a/z']);
    expect(names(store.list('pods', { namespace: '' }).entries)).toHaveLength(6);
    expect(store.list('services')).toEqual({ entries: [], revision: 7, remaining: 0 });
    expect(store.count('pods')).toBe(6);
  });

  it('pages through one revision while objects are created, changed and deleted', async () => {
    const store = await newStore();
    for (const name of ['a', 'c', 'e', 'g']) await put(store, pod(name), 'old');
    const first = store.list('pods', { limit: 2 });
    expect(names(first.entries)).toEqual(['default/a', 'default/c']);
    expect(first.remaining).toBe(2);

    await put(store, pod('d'), 'new');
    await put(store, pod('e'), 'new');
    await remove(store, pod('g'));
    await put(store, pod('z', 'other'), 'new');
    const { revision } = first;
    const second = store.list('pods', { limit: 1, revision, after: { namespace: 'default', name: 'c' } });
    expect(second).toMatchObject({ entries: [{ name: 'e', revision: 4 }], remaining: 1, revision });
    expect(String(second.entries[0]?.value)).toBe('old');
    const third = store.list('pods', { limit: 1, revision, after: { namespace: 'default', name: 'e' } });
    expect(third).toMatchObject({ entries: [{ name: 'g' }], remaining: 0 });
  });

  it('rejects revisions that are compacted or in the future', async () => {
    const store = await newStore(2);
    for (const text of ['1', '2', '3']) await put(store, pod('a'), text);
    expect(store.compactedRevision).toBe(2);
    expect(String(store.list('pods', { revision: 2 }).entries[0]?.value)).toBe('1');
    expect(() => store.list('pods', { revision: 1 })).toThrow(CompactedError);
    expect(() => store.list('pods', { revision: 5 })).toThrow(FutureRevisionError);
    expect(() => store.watch('pods', { fromRevision: 1 }, () => {})).toThrow(CompactedError);
  });
});
