import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject, OwnerReference } from '@tidegate/kube';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Core, WriteOptions } from '../operations/core.ts';
import { createObject } from '../operations/create.ts';
import { deleteObject } from '../operations/delete.ts';
import { configmaps } from '../resources/config/configmap.ts';
import { decodeStored } from '../served/codec.ts';
import { Registry } from '../served/registry.ts';
import { openStore } from '../store/index.ts';
import type { Key } from '../store/types.ts';
import { GarbageCollector } from './garbage.ts';

const OPTIONS: WriteOptions = {
  user: { username: 'system:apiserver', groups: [] },
  dryRun: false,
  fieldManager: 'test',
  warn: () => undefined,
};
/** A collector that enqueues without end must fail the test, not hang it. */
const MAX_STEPS = 200;

let core: Core;
let queue: Map<string, Key>;
let collector: GarbageCollector;

beforeEach(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-collector-'));
  const store = await openStore({ directory });
  const registry = new Registry();
  registry.set(configmaps);
  let uids = 0;
  core = {
    store,
    registry,
    admission: { mutate: async ({ object }) => object as KubeObject, validate: async () => undefined },
    now: () => new Date('2026-01-01T00:00:00Z'),
    uuid: () => `uid-${++uids}`,
    random: () => 0,
  };
  queue = new Map();
  collector = new GarbageCollector(core, OPTIONS, (key) => queue.set(JSON.stringify(key), key));
  const unsubscribe = store.watchAll((changes) => {
    for (const change of changes) collector.observe(change);
  });
  return async () => {
    unsubscribe();
    await store.close();
    await rm(directory, { recursive: true });
  };
});

/** Reconciles until the queue is empty. */
async function settle(): Promise<void> {
  for (let step = 0; queue.size > 0; step++) {
    if (step > MAX_STEPS) throw new Error(`the queue is not empty after ${MAX_STEPS} reconciles`);
    const [[id, key]] = [...queue] as [[string, Key]];
    queue.delete(id);
    await collector.reconcile(key);
    await core.store.flushed();
  }
}

const target = (name: string) => {
  const served = core.registry.byStorage('configmaps');
  if (served === undefined) throw new Error('ConfigMaps are not served');
  return { served, namespace: 'default', name };
};

async function create(name: string, more: Partial<KubeObject['metadata']> = {}): Promise<string> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } };
  const created = await createObject(core, { ...target(name), object, options: OPTIONS });
  return created.object.metadata.uid ?? '';
}

const owner = (name: string, uid: string, blockOwnerDeletion = true): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid,
  blockOwnerDeletion,
});

const remove = (name: string, propagationPolicy: 'Foreground' | 'Background' | 'Orphan') =>
  deleteObject(core, { ...target(name), options: OPTIONS, delete: { propagationPolicy } });

const names = (): string[] => core.store.list('configmaps').entries.map((entry) => entry.name);

const metadataOf = (name: string): KubeObject['metadata'] | undefined => {
  const entry = core.store.get({ resource: 'configmaps', namespace: 'default', name });
  return entry === undefined ? undefined : decodeStored(entry).metadata;
};

describe('foreground deletion', () => {
  it('removes the owner after its dependents', async () => {
    const uid = await create('owner');
    await create('held', { ownerReferences: [owner('owner', uid)], finalizers: ['example.com/hold'] });
    await remove('owner', 'Foreground');
    await settle();
    expect(metadataOf('owner')?.deletionTimestamp).toBeDefined();
    expect(metadataOf('held')?.deletionTimestamp).toBeDefined();
  });

  it('removes three objects that own each other in a circle', async () => {
    // The uids of objects that do not exist yet are known here, because the test counts them.
    await create('a', { ownerReferences: [owner('c', 'uid-3')] });
    await create('b', { ownerReferences: [owner('a', 'uid-1')] });
    await create('c', { ownerReferences: [owner('b', 'uid-2')] });
    queue.clear();
    await remove('a', 'Foreground');
    await settle();
    expect(names()).toEqual([]);
  });

  it('removes a circle whose members are all deleted in the foreground', async () => {
    await create('a', { ownerReferences: [owner('c', 'uid-3')] });
    await create('b', { ownerReferences: [owner('a', 'uid-1')] });
    await create('c', { ownerReferences: [owner('b', 'uid-2')] });
    queue.clear();
    for (const name of ['a', 'b', 'c']) await remove(name, 'Foreground');
    await settle();
    expect(names()).toEqual([]);
  });

  it('waits for a dependent outside of the circle', async () => {
    await create('a', { ownerReferences: [owner('b', 'uid-2')] });
    await create('b', { ownerReferences: [owner('a', 'uid-1')] });
    await create('held', { ownerReferences: [owner('a', 'uid-1')], finalizers: ['example.com/hold'] });
    queue.clear();
    for (const name of ['a', 'b']) await remove(name, 'Foreground');
    await settle();
    expect(names()).toContain('a');
    expect(names()).toContain('held');
  });

  it('removes an object that owns itself', async () => {
    await create('self', { ownerReferences: [owner('self', 'uid-1')] });
    queue.clear();
    await remove('self', 'Foreground');
    await settle();
    expect(names()).toEqual([]);
  });

  it('continues when a dependent no longer refers to its owner', async () => {
    const uid = await create('owner');
    await create('kept', { ownerReferences: [owner('owner', uid), owner('other', 'uid-3')] });
    await create('other');
    queue.clear();
    await remove('owner', 'Foreground');
    await settle();
    expect(names()).toEqual(['kept', 'other']);
    expect(metadataOf('kept')?.ownerReferences?.map(({ name }) => name)).toEqual(['other']);
  });
});
