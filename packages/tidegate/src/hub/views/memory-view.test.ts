import { join } from 'node:path';
import { DurableMap } from '@tidegate/disk';
import { temporaryDirectory } from '@tidegate/disk/testing';
import { silentLogger } from '@tidegate/kube';
import { VirtualClock, WIDGETS } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { itemOf, objectOf } from './item.ts';
import { MemoryView } from './memory-view.ts';
import { ViewStorage } from './storage.ts';
import type { ViewItem } from './view.ts';
import { idOf, sharedKey } from './view-key.ts';

const KEY = sharedKey(WIDGETS);
const ID = idOf(KEY);

const widget = (name: string, version: number, fields: Record<string, unknown> = {}): ViewItem => {
  const { uid = `uid-${name}`, ...rest } = fields;
  const metadata = { name, namespace: 'default', resourceVersion: String(version), uid: String(uid) };
  return itemOf({ apiVersion: 'example.com/v1', kind: 'Widget', metadata, ...rest }, WIDGETS);
};

describe('MemoryView', () => {
  let map: DurableMap;
  let storage: ViewStorage;
  let clock: VirtualClock;
  let view: MemoryView;
  let received: string[];

  const newView = (): MemoryView => {
    const made = new MemoryView(KEY, storage, clock, silentLogger);
    made.subscribe((changes, version) => {
      received.push(
        ...changes.map(({ type, item }) => `${type} ${item.key.slice(8)}@${item.resourceVersion}`),
      );
      received.push(`=${version}`);
    });
    return made;
  };
  const take = (): string[] => received.splice(0);
  const stored = async (): Promise<string[]> => {
    const keys: string[] = [];
    for await (const { item, overlaid } of storage.items(ID)) {
      keys.push(`${item.key.slice(8)}@${item.resourceVersion}${overlaid ? '!' : ''}`);
    }
    return keys.sort();
  };

  beforeEach(async () => {
    map = await DurableMap.open(join(await temporaryDirectory(), 'map'));
    storage = new ViewStorage(map);
    clock = new VirtualClock();
    received = [];
    view = newView();
  });
  afterEach(() => map.close());

  it('is empty until the first list, and stored after it', async () => {
    const ready = view.ready(new AbortController().signal);
    expect(view).toMatchObject({ state: 'empty', resourceVersion: undefined, kind: undefined });
    view.replace([widget('a', 5), widget('b', 3)], '10', 'WidgetList');
    await ready;
    expect(take()).toEqual(['put b@3', 'put a@5', '=10']);
    expect(view).toMatchObject({ state: 'stored', size: 2, kind: 'Widget', listKind: 'WidgetList' });
    view.followed = true;
    expect(view.state).toBe('following');
    expect(view.bytes).toBe([...view.items()].reduce((sum, { bytes }) => sum + bytes.length, 0));
  });

  it('turns a list into the missed changes, in a possible order', () => {
    view.replace([widget('kept', 1), widget('changed', 2), widget('gone', 3), widget('again', 4)], '10', 'L');
    const kept = view.get('default/kept');
    take();
    view.replace(
      [widget('new', 14), widget('again', 13, { uid: 'other' }), widget('changed', 12), widget('kept', 1)],
      '20',
      'L',
    );
    expect(take()).toEqual([
      'put changed@12',
      'delete again@13',
      'put again@13',
      'put new@14',
      'delete gone@20',
      '=20',
    ]);
    expect(view.get('default/kept')).toBe(kept);
  });

  it('reports an object that is missing in a list as deleted at the version of the list', () => {
    view.replace([widget('gone', 3, { value: 1 })], '10', 'L');
    const changes: unknown[] = [];
    view.subscribe((batch) => changes.push(...batch.map(({ item }) => objectOf(item))));
    view.replace([], '20', 'L');
    expect(changes).toMatchObject([{ metadata: { name: 'gone', resourceVersion: '20' }, value: 1 }]);
  });

  it('applies a list with an older version, because the API server was restored from a backup', () => {
    view.replace([widget('same', 3), widget('branched', 5, { value: 1 }), widget('later', 9)], '10', 'L');
    take();
    view.replace([widget('same', 3), widget('branched', 5, { value: 2 }), widget('earlier', 2)], '6', 'L');
    expect(take()).toEqual(['put earlier@2', 'put branched@5', 'delete later@6', '=6']);
  });

  it('ignores events that are older than its objects or their deletion', () => {
    view.replace([widget('a', 5)], '10', 'L');
    view.apply('MODIFIED', widget('a', 12));
    view.apply('MODIFIED', widget('a', 11));
    view.apply('MODIFIED', widget('a', 12));
    view.apply('DELETED', widget('a', 13));
    view.apply('ADDED', widget('a', 12));
    view.apply('ADDED', widget('b', 14));
    expect(take().filter((what) => !what.startsWith('='))).toEqual([
      'put a@5',
      'put a@12',
      'delete a@13',
      'put b@14',
    ]);
    expect(view.resourceVersion).toBe('14');
  });

  it('stores the objects together with the version', async () => {
    view.replace([widget('a', 5), widget('b', 6)], '10', 'WidgetList');
    view.apply('DELETED', widget('b', 11));
    view.bookmark('15');
    expect(await stored()).toEqual(['a@5']);
    const [record] = await storage.records(silentLogger);
    expect(record).toMatchObject({
      key: KEY,
      listKind: 'WidgetList',
      progress: { resourceVersion: '15', size: 1 },
    });
    const again = newView();
    const items = [];
    for await (const item of storage.items(ID)) items.push(item);
    take();
    again.restore(record!, items);
    expect(take()).toEqual(['put a@5', '=15']);
    expect(again.get('default/a')!.bytes.equals(view.get('default/a')!.bytes)).toBe(true);
    expect(again.progress()).toEqual(view.progress());
  });

  it('reads the progress that version 0.1.0 stored', async () => {
    view.replace([widget('a', 5)], '10', 'WidgetList');
    const { receivedAt, ...progress } = view.progress();
    storage.putProgress(ID, { ...progress, heardAt: receivedAt } as never);
    const [record] = await storage.records(silentLogger);
    expect(record?.progress).toEqual(view.progress());
  });

  it('shows an overlaid object until the API server sends the object', async () => {
    view.replace([widget('a', 5, { value: 1 }), widget('b', 6)], '10', 'L');
    take();
    view.overlay(widget('a', 5, { value: 2 }));
    view.overlay(widget('unknown', 5));
    expect(take()).toEqual(['put a@5', '=10']);
    expect(await stored()).toEqual(['a@5!', 'b@6']);
    view.replace([widget('a', 5, { value: 1 }), widget('b', 6)], '10', 'L');
    expect(take()).toEqual(['put a@5', '=10']);
    expect(objectOf(view.get('default/a')!).value).toBe(1);
    expect(await stored()).toEqual(['a@5', 'b@6']);
    view.overlay(widget('a', 5, { value: 3 }));
    view.apply('MODIFIED', widget('a', 11, { value: 4 }));
    view.apply('MODIFIED', widget('a', 11, { value: 4 }));
    expect(take().filter((what) => what.startsWith('put'))).toEqual(['put a@5', 'put a@11']);
  });

  it('calls the refusal listeners before it deletes its objects', async () => {
    view.replace([widget('a', 5)], '10', 'L');
    take();
    view.onRefused((why) => received.push(`refused: ${why.message}`));
    view.onRefused(() => {
      throw new Error('injected failure of a listener');
    });
    view.refuse(new Error('no'));
    view.clear();
    expect(take()).toEqual(['refused: no', 'delete a@5', '=10']);
    expect(view).toMatchObject({ state: 'empty', size: 0, bytes: 0 });
    expect(map.keys()).toEqual([]);
    await expect(view.ready(new AbortController().signal))
      .resolves.toBeUndefined()
      .catch(() => {});
  });

  it('rejects waiting clients while the first state cannot arrive', async () => {
    const gone = new AbortController();
    const leaves = view.ready(gone.signal);
    const waits = view.ready(new AbortController().signal);
    gone.abort(new Error('client gone'));
    await expect(leaves).rejects.toThrow('client gone');
    view.setUnavailable(new Error('offline'));
    await expect(waits).rejects.toThrow('offline');
    await expect(view.ready(new AbortController().signal)).rejects.toThrow('offline');
    view.setUnavailable(undefined);
    const waitsAgain = view.ready(new AbortController().signal);
    view.replace([], '1', 'L');
    await waitsAgain;
  });
});
