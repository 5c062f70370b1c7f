/** Helpers for the tests of the store. */

import { recordingLogger } from '@tidegate/disk/testing';
import { onTestFinished } from 'vitest';
import { openStore, type StoreOptions } from './store.ts';
import type { Change, Entry, Key, Store } from './types.ts';

/** Opens a store that is closed at the end of the test. */
export async function openTestStore(options: StoreOptions): Promise<Store> {
  const store = await openStore({ log: recordingLogger(), ...options });
  onTestFinished(() => store.close());
  return store;
}

export function pod(name: string, namespace = 'default'): Key {
  return { resource: 'pods', namespace, name };
}

export async function put(store: Store, key: Key, text: string): Promise<Entry> {
  const entry = await store.write(key, () => ({ type: 'put', value: Buffer.from(text) }));
  if (entry === undefined) throw new Error('a put returned no entry');
  return entry;
}

export function remove(store: Store, key: Key): Promise<Entry | undefined> {
  return store.write(key, (current) =>
    current === undefined ? { type: 'keep' } : { type: 'delete', value: current.value },
  );
}

export function names(entries: readonly Entry[]): string[] {
  return entries.map((entry) => `${entry.namespace}/${entry.name}`);
}

/** A change in one line: `3 put default/a=text`. */
export function line({ type, entry }: Change): string {
  return `${entry.revision} ${type} ${entry.namespace}/${entry.name}=${entry.value}`;
}
