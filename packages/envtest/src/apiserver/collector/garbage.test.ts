import type { KubeObject, OwnerReference } from '@tidegate/kube';
import { beforeEach, describe, expect, it } from 'vitest';
import { createObject } from '../operations/create.ts';
import { deleteObject } from '../operations/delete.ts';
import { configmaps } from '../resources/config/configmap.ts';
import { decodeStored } from '../served/codec.ts';
import type { Key } from '../store/types.ts';
import { GarbageCollector } from './garbage.ts';
import { OPTIONS, openCollecting, type TestCollector } from './testing.ts';

let collecting: TestCollector;
beforeEach(async () => {
  collecting = await openCollecting([configmaps], (core, enqueue) => {
    const collector = new GarbageCollector(core, OPTIONS, (key) => enqueue(JSON.stringify(key)));
    return {
      observe: (change) => collector.observe(change),
      reconcile: (key) => collector.reconcile(JSON.parse(key) as Key),
    };
  });
  return () => collecting.close();
});

const target = (name: string) => {
  const served = collecting.core.registry.byStorage('configmaps');
  if (served === undefined) throw new Error('ConfigMaps are not served');
  return { served, namespace: 'default', name };
};

async function create(name: string, more: Partial<KubeObject['metadata']> = {}): Promise<string> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...more } };
  const created = await createObject(collecting.core, { ...target(name), object, options: OPTIONS });
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
  deleteObject(collecting.core, { ...target(name), options: OPTIONS, delete: { propagationPolicy } });

const names = (): string[] => collecting.core.store.list('configmaps').entries.map((entry) => entry.name);

const metadataOf = (name: string): KubeObject['metadata'] | undefined => {
  const entry = collecting.core.store.get({ resource: 'configmaps', namespace: 'default', name });
  return entry === undefined ? undefined : decodeStored(entry).metadata;
};

describe('foreground deletion', () => {
  it('removes the owner after its dependents', async () => {
    const uid = await create('owner');
    await create('held', { ownerReferences: [owner('owner', uid)], finalizers: ['example.com/hold'] });
    await remove('owner', 'Foreground');
    await collecting.settle();
    expect(metadataOf('owner')?.deletionTimestamp).toBeDefined();
    expect(metadataOf('held')?.deletionTimestamp).toBeDefined();
  });

  it('removes three objects that own each other in a circle', async () => {
    // The uids of objects that do not exist yet are known here, because the test counts them.
    await create('a', { ownerReferences: [owner('c', 'uid-3')] });
    await create('b', { ownerReferences: [owner('a', 'uid-1')] });
    await create('c', { ownerReferences: [owner('b', 'uid-2')] });
    collecting.forget();
    await remove('a', 'Foreground');
    await collecting.settle();
    expect(names()).toEqual([]);
  });

  it('removes a circle whose members are all deleted in the foreground', async () => {
    await create('a', { ownerReferences: [owner('c', 'uid-3')] });
    await create('b', { ownerReferences: [owner('a', 'uid-1')] });
    await create('c', { ownerReferences: [owner('b', 'uid-2')] });
    collecting.forget();
    for (const name of ['a', 'b', 'c']) await remove(name, 'Foreground');
    await collecting.settle();
    expect(names()).toEqual([]);
  });

  it('waits for a dependent outside of the circle', async () => {
    await create('a', { ownerReferences: [owner('b', 'uid-2')] });
    await create('b', { ownerReferences: [owner('a', 'uid-1')] });
    await create('held', { ownerReferences: [owner('a', 'uid-1')], finalizers: ['example.com/hold'] });
    collecting.forget();
    for (const name of ['a', 'b']) await remove(name, 'Foreground');
    await collecting.settle();
    expect(names()).toContain('a');
    expect(names()).toContain('held');
  });

  it('removes an object that owns itself', async () => {
    await create('self', { ownerReferences: [owner('self', 'uid-1')] });
    collecting.forget();
    await remove('self', 'Foreground');
    await collecting.settle();
    expect(names()).toEqual([]);
  });

  it('continues when a dependent no longer refers to its owner', async () => {
    const uid = await create('owner');
    await create('kept', { ownerReferences: [owner('owner', uid), owner('other', 'uid-3')] });
    await create('other');
    collecting.forget();
    await remove('owner', 'Foreground');
    await collecting.settle();
    expect(names()).toEqual(['kept', 'other']);
    expect(metadataOf('kept')?.ownerReferences?.map(({ name }) => name)).toEqual(['other']);
  });
});
