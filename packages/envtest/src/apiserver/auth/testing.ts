/** A store for tests, with helpers to write whole objects. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import { openStore } from '../store/index.ts';
import type { Entry, Key, Store } from '../store/types.ts';

export interface ObjectStore extends Store {
  put(resource: string, object: KubeObject): Promise<Entry | undefined>;
  remove(resource: string, object: KubeObject): Promise<Entry | undefined>;
  /** Closes the store and removes its directory. */
  dispose(): Promise<void>;
}

export async function openObjects(): Promise<ObjectStore> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-objects-'));
  const store = await openStore({ directory });
  return Object.assign(store, {
    put: (resource: string, object: KubeObject) =>
      store.write(keyOf(resource, object), () => ({
        type: 'put' as const,
        value: Buffer.from(JSON.stringify(object)),
      })),
    remove: (resource: string, object: KubeObject) =>
      store.write(keyOf(resource, object), (current) =>
        current === undefined ? { type: 'keep' as const } : { type: 'delete' as const, value: current.value },
      ),
    dispose: async () => {
      await store.close();
      await rm(directory, { recursive: true });
    },
  });
}

const keyOf = (resource: string, { metadata }: KubeObject): Key => ({
  resource,
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
});
