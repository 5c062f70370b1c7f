import type { ObjectMeta, OwnerReference } from '@tidegate/kube';
import { decodeStored } from '../served/codec.ts';
import type { Change, Entry, Key, Store } from '../store/types.ts';

/** An object with owner references. */
export interface Dependent {
  key: Key;
  uid: string;
  owners: OwnerReference[];
  /** It is deleted in the foreground and waits until its own dependents are gone. */
  waiting: boolean;
}

export const FOREGROUND_FINALIZER = 'foregroundDeletion';

/** Stored objects are JSON without spaces, so a field is present only if these bytes are. */
const MARK = Buffer.from('"ownerReferences"');

/** Index of dependents by the uid of their owner. Each change costs one look at the changed object. */
export class Dependents {
  readonly #byOwner = new Map<string, Map<string, Dependent>>();
  readonly #byObject = new Map<string, Dependent>();

  constructor(store: Store) {
    for (const resource of store.resources()) {
      for (const entry of store.list(resource).entries) this.#put(resource, entry);
    }
  }

  apply(change: Change): void {
    if (change.type === 'delete') this.#remove(keyText(keyOfEntry(change.resource, change.entry)));
    else this.#put(change.resource, change.entry);
  }

  /** The objects that refer to this owner. */
  of(uid: string): Dependent[] {
    return [...(this.#byOwner.get(uid)?.values() ?? [])];
  }

  /** The dependents that hold up the deletion of their owner in the foreground. */
  blocking(uid: string): Dependent[] {
    return this.of(uid).filter((dependent) => blocks(dependent, uid));
  }

  /** True if the object holds up the deletion of an object that holds up its own deletion, directly or not. */
  inCircle(from: Dependent, uid: string): boolean {
    const seen = new Set<string>();
    const next = [from.uid];
    for (let at = next.pop(); at !== undefined; at = next.pop()) {
      if (at === uid) return true;
      if (seen.has(at)) continue;
      seen.add(at);
      for (const dependent of this.blocking(at)) next.push(dependent.uid);
    }
    return false;
  }

  get(key: Key): Dependent | undefined {
    return this.#byObject.get(keyText(key));
  }

  all(): Dependent[] {
    return [...this.#byObject.values()];
  }

  #put(resource: string, entry: Entry): void {
    const key = keyOfEntry(resource, entry);
    const id = keyText(key);
    this.#remove(id);
    // Most objects have no owner, and a search in the bytes is much cheaper than decoding.
    if (!entry.value.includes(MARK)) return;
    const { metadata } = decodeStored(entry);
    const owners = metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    const dependent = { key, uid: metadata.uid ?? '', owners, waiting: isWaiting(metadata) };
    this.#byObject.set(id, dependent);
    for (const { uid } of owners) {
      const siblings = this.#byOwner.get(uid) ?? new Map<string, Dependent>();
      siblings.set(id, dependent);
      this.#byOwner.set(uid, siblings);
    }
  }

  #remove(id: string): void {
    const dependent = this.#byObject.get(id);
    if (dependent === undefined) return;
    this.#byObject.delete(id);
    for (const { uid } of dependent.owners) {
      const siblings = this.#byOwner.get(uid);
      siblings?.delete(id);
      if (siblings?.size === 0) this.#byOwner.delete(uid);
    }
  }
}

export const blocks = ({ owners }: Dependent, uid: string): boolean =>
  owners.some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true);

export const isWaiting = ({ deletionTimestamp, finalizers }: ObjectMeta): boolean =>
  deletionTimestamp !== undefined && finalizers?.includes(FOREGROUND_FINALIZER) === true;

export const keyOfEntry = (resource: string, entry: Entry): Key => ({
  resource,
  namespace: entry.namespace,
  name: entry.name,
});

/** Names and resources cannot contain a null character, so the text is unique. */
export const keyText = (key: Key): string => `${key.resource}\0${key.namespace}\0${key.name}`;
