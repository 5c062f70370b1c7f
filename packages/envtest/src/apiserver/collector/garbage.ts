/**
 * Garbage collection by ownerReferences, as kube-controller-manager does it. Keys are objects. An object is
 * reconciled when it is created, when its owners change, when one of its owners is deleted and, if it waits for its
 * dependents, when one of them is deleted.
 *
 * The three policies of a delete:
 * - Background: the owner is removed at once. Its dependents find no owner and are deleted.
 * - Foreground: the owner stays with the finalizer `foregroundDeletion` until all dependents that block it are gone.
 * - Orphan: the owner stays with the finalizer `orphan` until the references of its dependents are removed.
 *
 * An owner is identified by uid, not by name: an object that was recreated with the same name is another owner.
 */
import { type KubeObject, type OwnerReference, parseApiVersion } from '@tidegate/kube';
import type { Core, WriteOptions } from '../operations/core.ts';
import type { PropagationPolicy } from '../operations/delete.ts';
import { deleteIfPresent, editIfPresent } from '../operations/if-present.ts';
import { decodeStored } from '../served/codec.ts';
import type { Served } from '../served/registry.ts';
import type { Change, Key } from '../store/types.ts';
import {
  blocks,
  type Dependent,
  Dependents,
  FOREGROUND_FINALIZER,
  isWaiting,
  keyOfEntry,
} from './dependents.ts';

export const ORPHAN_FINALIZER = 'orphan';

/** Found in the stored bytes of every object that is being deleted; cheaper than decoding the object. */
const DELETION_MARK = Buffer.from('"deletionTimestamp"');

/**
 * Decides by the stored state only, so a repeated or missed event does no harm. After a start, all dependents are
 * checked once, because an owner may have been deleted just before the server stopped.
 */
export class GarbageCollector {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #dependents: Dependents;
  readonly #enqueue: (key: Key) => void;

  constructor(core: Core, options: WriteOptions, enqueue: (key: Key) => void) {
    this.#core = core;
    this.#options = options;
    this.#enqueue = enqueue;
    this.#dependents = new Dependents(core.store);
    for (const dependent of this.#dependents.all()) enqueue(dependent.key);
  }

  /** Observes a change and enqueues every object that may have become garbage. */
  observe(change: Change): void {
    const key = keyOfEntry(change.resource, change.entry);
    const before = this.#dependents.get(key);
    this.#dependents.apply(change);
    if (change.type === 'put') {
      const after = this.#dependents.get(key);
      const leaving = change.entry.value.includes(DELETION_MARK);
      if (leaving || (after !== undefined && !sameOwners(before, after))) this.#enqueue(key);
      this.#enqueueOwners(before, (uid) => after === undefined || !blocks(after, uid));
      return;
    }
    // A deleted object may orphan its dependents, and may be the last one that an owner waits for.
    const { uid = '' } = decodeStored(change.entry).metadata;
    for (const dependent of this.#dependents.of(uid)) this.#enqueue(dependent.key);
    this.#enqueueOwners(before, () => true);
  }

  /** Enqueues the owners whose deletion the dependent held up, if `released` returns true for their uid. */
  #enqueueOwners(dependent: Dependent | undefined, released: (uid: string) => boolean): void {
    if (dependent === undefined) return;
    for (const owner of dependent.owners) {
      if (owner.blockOwnerDeletion !== true || !released(owner.uid)) continue;
      const ownerKey = this.#keyOfOwner(owner, dependent.key.namespace);
      if (ownerKey !== undefined) this.#enqueue(ownerKey);
    }
  }

  /** An object that is being deleted first handles its own dependents. All others are checked for owners. */
  async reconcile(key: Key): Promise<void> {
    const entry = this.#core.store.get(key);
    const served = this.#servedOf(key);
    if (entry === undefined || served === undefined) return;
    const object = decodeStored(entry);
    if (object.metadata.deletionTimestamp !== undefined) {
      const finalizers = object.metadata.finalizers ?? [];
      if (finalizers.includes(ORPHAN_FINALIZER)) return this.#orphanDependents(served, object);
      if (finalizers.includes(FOREGROUND_FINALIZER)) return this.#deleteDependents(served, object);
    }
    await this.#checkOwners(served, key, object);
  }

  /** Deletes the object if all its owners are gone or wait for it. */
  async #checkOwners(served: Served, key: Key, object: KubeObject): Promise<void> {
    const owners = object.metadata.ownerReferences ?? [];
    if (owners.length === 0) return;
    const states = owners.map((owner) => ({ owner, state: this.#stateOf(owner, key.namespace) }));
    const gone = states.filter(({ state }) => state === 'absent' || state === 'waiting');
    if (gone.length === 0) return;
    // At least one owner is left: the object stays, without the references to the others.
    if (gone.length < states.length) {
      const uids = new Set(gone.map(({ owner }) => owner.uid));
      return this.#dropOwners(served, key, uids);
    }
    if (object.metadata.deletionTimestamp !== undefined) return;
    // An owner in foreground deletion waits for the whole tree below it, so the policy is passed on.
    const waiting = gone.some(({ state }) => state === 'waiting');
    const hasDependents = this.#dependents.of(object.metadata.uid ?? '').length > 0;
    await this.#delete(served, object, waiting && hasDependents ? 'Foreground' : 'Background');
  }

  /** `waiting`: the owner is deleted in the foreground and waits until its dependents are gone. */
  #stateOf(owner: OwnerReference, namespace: string): 'solid' | 'absent' | 'waiting' {
    const key = this.#keyOfOwner(owner, namespace);
    // If the kind of the owner is not served, the owner may still exist, so the dependent is kept.
    if (key === undefined) return 'solid';
    const entry = this.#core.store.get(key);
    if (entry === undefined) return 'absent';
    const { metadata } = decodeStored(entry);
    // An object with the same name but another uid was created later; it is not the owner.
    if (metadata.uid !== owner.uid) return 'absent';
    return isWaiting(metadata) ? 'waiting' : 'solid';
  }

  /**
   * An owner is in the namespace of its dependent, or cluster-scoped. Returns undefined if the kind is not served, or
   * if a cluster-scoped object refers to a namespaced owner, which Kubernetes does not allow.
   */
  #keyOfOwner(owner: OwnerReference, namespace: string): Key | undefined {
    const definition = this.#core.registry.byKind(parseApiVersion(owner.apiVersion).group, owner.kind);
    if (definition === undefined) return undefined;
    if (definition.namespaced && namespace === '') return undefined;
    return {
      resource: definition.storage,
      namespace: definition.namespaced ? namespace : '',
      name: owner.name,
    };
  }

  async #orphanDependents(served: Served, object: KubeObject): Promise<void> {
    const uid = object.metadata.uid ?? '';
    for (const dependent of this.#dependents.of(uid)) {
      const dependentServed = this.#servedOf(dependent.key);
      if (dependentServed !== undefined)
        await this.#dropOwners(dependentServed, dependent.key, new Set([uid]));
    }
    await this.#removeFinalizer(served, object, ORPHAN_FINALIZER);
  }

  async #deleteDependents(served: Served, object: KubeObject): Promise<void> {
    const uid = object.metadata.uid ?? '';
    // Only dependents with blockOwnerDeletion delay the owner; the others are deleted in the background. In a circle,
    // every object would wait for the next one, so one of them must be deleted first.
    const blocking = this.#dependents.blocking(uid).filter((d) => !this.#dependents.inCircle(d, uid));
    if (blocking.length === 0) await this.#removeFinalizer(served, object, FOREGROUND_FINALIZER);
    // A dependent that waits itself is reconciled when its own dependents change.
    for (const dependent of this.#dependents.of(uid)) if (!dependent.waiting) this.#enqueue(dependent.key);
  }

  async #dropOwners(served: Served, key: Key, uids: Set<string>): Promise<void> {
    await this.#edit(served, key, (current) => {
      const kept = (current.metadata.ownerReferences ?? []).filter((o) => !uids.has(o.uid));
      if (kept.length === 0) delete current.metadata.ownerReferences;
      else current.metadata.ownerReferences = kept;
    });
  }

  async #removeFinalizer(served: Served, object: KubeObject, finalizer: string): Promise<void> {
    const key = {
      resource: '',
      namespace: object.metadata.namespace ?? '',
      name: object.metadata.name ?? '',
    };
    await this.#edit(served, key, (current) => {
      current.metadata.finalizers = (current.metadata.finalizers ?? []).filter((f) => f !== finalizer);
      if (current.metadata.finalizers.length === 0) delete current.metadata.finalizers;
    });
  }

  #edit(served: Served, key: Key, edit: (current: KubeObject) => void): Promise<void> {
    const { namespace, name } = key;
    return editIfPresent(this.#core, { served, namespace, name }, this.#options, edit);
  }

  #delete(served: Served, object: KubeObject, propagationPolicy: PropagationPolicy): Promise<void> {
    const { namespace = '', name = '', uid } = object.metadata;
    // With the uid as a precondition, an object that was recreated in the meantime is not deleted.
    const how = { propagationPolicy, preconditions: { uid } };
    return deleteIfPresent(this.#core, { served, namespace, name }, this.#options, how);
  }

  #servedOf(key: Key): Served | undefined {
    return this.#core.registry.byStorage(key.resource);
  }
}

const sameOwners = (a: Dependent | undefined, b: Dependent): boolean =>
  a !== undefined &&
  a.owners.length === b.owners.length &&
  a.owners.every((owner, i) => owner.uid === b.owners[i]?.uid);
