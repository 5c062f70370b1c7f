/**
 * Removes the finalizers that protect volumes, claims and attribute classes, once they are being deleted and not in use. A
 * claim is in use while a pod refers to it, a volume while it is bound, and a class while a claim or volume names it.
 */
import type { KubeObject } from '@tidegate/kube';
import type { Core, WriteOptions } from '../operations/core.ts';
import { editIfPresent } from '../operations/if-present.ts';
import type { Pod } from '../resources/pod/types.ts';
import { PROTECTION_FINALIZERS } from '../resources/storage/protection.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../resources/storage/types.ts';
import { decodeStored } from '../served/codec.ts';
import type { Change, Entry, Key } from '../store/types.ts';

const PODS = 'pods';
const CLAIMS = 'persistentvolumeclaims';
const VOLUMES = 'persistentvolumes';
const CLASSES = 'storage.k8s.io/volumeattributesclasses';

const FINALIZERS = new Map<string, string>([
  [CLAIMS, PROTECTION_FINALIZERS.PersistentVolumeClaim],
  [VOLUMES, PROTECTION_FINALIZERS.PersistentVolume],
  [CLASSES, PROTECTION_FINALIZERS.VolumeAttributesClass],
]);
const DELETION_MARK = Buffer.from('"deletionTimestamp"');

export class Protection {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #enqueue: (key: Key) => void;
  /** Objects that are being deleted but still in use, by storage name. Few, so all are checked again. */
  readonly #waiting = new Map<string, Map<string, Key>>();

  constructor(core: Core, options: WriteOptions, enqueue: (key: Key) => void) {
    this.#core = core;
    this.#options = options;
    this.#enqueue = enqueue;
    for (const resource of FINALIZERS.keys()) {
      for (const entry of core.store.list(resource).entries) this.#look(resource, entry);
    }
  }

  observe({ resource, type, entry }: Change): void {
    if (FINALIZERS.has(resource)) {
      if (type === 'put') this.#look(resource, entry);
      else this.#waiting.get(resource)?.delete(`${entry.namespace}/${entry.name}`);
    }
    if (resource === PODS) this.#recheck(CLAIMS);
    if (resource === CLAIMS || resource === VOLUMES) this.#recheck(CLASSES);
  }

  async reconcile(key: Key): Promise<void> {
    const entry = this.#core.store.get(key);
    const served = this.#core.registry.byStorage(key.resource);
    const finalizer = FINALIZERS.get(key.resource);
    if (entry === undefined || served === undefined || finalizer === undefined) return;
    const object = decodeStored(entry);
    if (object.metadata.deletionTimestamp === undefined) return;
    const id = `${key.namespace}/${key.name}`;
    if (!object.metadata.finalizers?.includes(finalizer)) {
      this.#waiting.get(key.resource)?.delete(id);
      return;
    }
    if (this.#isUsed(key.resource, object)) return;
    await editIfPresent(this.#core, { served, ...key }, this.#options, ({ metadata }) => {
      metadata.finalizers = (metadata.finalizers ?? []).filter((one) => one !== finalizer);
      if (metadata.finalizers.length === 0) delete metadata.finalizers;
    });
  }

  #look(resource: string, entry: Entry): void {
    if (!entry.value.includes(DELETION_MARK)) return;
    const key = { resource, namespace: entry.namespace, name: entry.name };
    const waiting = this.#waiting.get(resource) ?? new Map<string, Key>();
    waiting.set(`${entry.namespace}/${entry.name}`, key);
    this.#waiting.set(resource, waiting);
    this.#enqueue(key);
  }

  #recheck(resource: string): void {
    for (const key of this.#waiting.get(resource)?.values() ?? []) this.#enqueue(key);
  }

  #isUsed(resource: string, object: KubeObject): boolean {
    if (resource === VOLUMES) return (object as PersistentVolume).status.phase === 'Bound';
    return resource === CLAIMS ? this.#isMounted(object) : this.#isNamed(object.metadata.name ?? '');
  }

  /** A pod that has ended no longer uses its claims. */
  #isMounted({ metadata }: KubeObject): boolean {
    const { entries } = this.#core.store.list(PODS, { namespace: metadata.namespace });
    return entries.some((entry) => {
      const { spec, status } = decodeStored(entry) as unknown as Pod;
      if (status.phase === 'Succeeded' || status.phase === 'Failed') return false;
      return spec.volumes?.some((volume) => volume.persistentVolumeClaim?.claimName === metadata.name);
    });
  }

  #isNamed(name: string): boolean {
    const refers = (entry: Entry): boolean => {
      const { spec } = decodeStored(entry) as PersistentVolume | PersistentVolumeClaim;
      return spec.volumeAttributesClassName === name;
    };
    return [CLAIMS, VOLUMES].some((resource) => this.#core.store.list(resource).entries.some(refers));
  }
}
