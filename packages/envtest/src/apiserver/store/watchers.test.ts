import { recordingLogger, temporaryDirectory } from '@tidegate/disk/testing';
import { describe, expect, it } from 'vitest';
import { line, openTestStore, pod, put, remove } from './testing.ts';
import type { Change, Store, WatchOptions } from './types.ts';

const newStore = async () => openTestStore({ directory: await temporaryDirectory() });

function record(store: Store, resource: string, options: WatchOptions) {
  const lines: string[] = [];
  const stop = store.watch(resource, options, (changes) => lines.push(...changes.map(line)));
  return { lines, stop };
}

describe('watch', () => {
  it('replays kept changes immediately, then continues with new ones', async () => {
    const store = await newStore();
    await put(store, pod('a'), '1');
    await put(store, pod('a'), '2');
    const { lines, stop } = record(store, 'pods', { fromRevision: 2 });
    expect(lines).toEqual(['3 put default/a=2']);
    await remove(store, pod('a'));
    stop();
    await put(store, pod('a'), '4');
    expect(lines).toEqual(['3 put default/a=2', '4 delete default/a=2']);
  });

  it('delivers the state before each change', async () => {
    const store = await newStore();
    const changes: Change[] = [];
    store.watch('pods', { fromRevision: 1 }, (batch) => changes.push(...batch));
    const first = await put(store, pod('a'), '1');
    const second = await put(store, pod('a'), '2');
    await remove(store, pod('a'));
    expect(changes.map((change) => change.previous)).toEqual([undefined, first, second]);
  });

  it('delivers to each watcher what it asked for, both replayed and new', async () => {
    const store = await newStore();
    const filters = [
      {},
      { namespace: 'x' },
      { name: 'a' },
      { namespace: 'x', name: 'a' },
      { namespace: 'none' },
    ];
    const live = filters.map((filter) => record(store, 'pods', { ...filter, fromRevision: 0 }));
    const other = record(store, 'services', { fromRevision: 0 });
    await Promise.all([
      put(store, pod('a', 'x'), ''),
      put(store, pod('b', 'x'), ''),
      put(store, pod('a', 'y'), ''),
      put(store, { resource: 'nodes', namespace: '', name: 'a' }, ''),
    ]);
    const replayed = filters.map((filter) => record(store, 'pods', { ...filter, fromRevision: 0 }));
    const expected = [
      ['2 put x/a=', '3 put x/b=', '4 put y/a='],
      ['2 put x/a=', '3 put x/b='],
      ['2 put x/a=', '4 put y/a='],
      ['2 put x/a='],
      [],
    ];
    expect(live.map(({ lines }) => lines)).toEqual(expected);
    expect(replayed.map(({ lines }) => lines)).toEqual(expected);
    expect(other.lines).toEqual([]);
    expect(record(store, 'nodes', { name: 'a', fromRevision: 0 }).lines).toEqual(['5 put /a=']);
  });

  it('delivers a group commit as one batch', async () => {
    const store = await newStore();
    const batches: number[] = [];
    const all: number[] = [];
    store.watch('pods', { fromRevision: 1 }, (changes) => batches.push(changes.length));
    store.watchAll((changes) => all.push(changes.length));
    await Promise.all([put(store, pod('a'), ''), put(store, pod('b'), ''), put(store, pod('c'), '')]);
    expect(batches).toEqual([3]);
    expect(all).toEqual([3]);
  });

  it('waits for a revision in the future', async () => {
    const store = await newStore();
    const { lines } = record(store, 'pods', { fromRevision: 3 });
    await put(store, pod('a'), '1');
    await put(store, pod('a'), '2');
    await Promise.all([put(store, pod('a'), '3'), put(store, pod('a'), '4')]);
    expect(lines).toEqual(['4 put default/a=3', '5 put default/a=4']);
  });

  it('logs a listener that throws and notifies the others', async () => {
    const log = recordingLogger();
    const store = await openTestStore({ directory: await temporaryDirectory(), log });
    store.watch('pods', { fromRevision: 1 }, () => {
      throw new Error('broken');
    });
    const { lines } = record(store, 'pods', { fromRevision: 1 });
    await put(store, pod('a'), '');
    expect(lines).toHaveLength(1);
    expect(log.messages).toEqual(['a watch listener failed']);
  });

  it('allows listeners to start and stop watches and to write', async () => {
    const store = await newStore();
    const begun: string[] = [];
    const second = { lines: [] as string[], stop: () => {} };
    let once = true;
    store.watch('pods', { fromRevision: 1 }, () => {
      if (!once) return;
      once = false;
      second.stop();
      store.watch('pods', { fromRevision: 1 }, (changes) => begun.push(...changes.map(line)));
      void put(store, pod('b'), '');
    });
    Object.assign(second, record(store, 'pods', { fromRevision: 1 }));
    await put(store, pod('a'), '');
    await store.flushed();
    expect(second.lines).toEqual([]);
    expect(begun).toEqual(['2 put default/a=', '3 put default/b=']);
  });
});
