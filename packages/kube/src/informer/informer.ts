import { isDeepStrictEqual } from 'node:util';
import { type Clock, type Random, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { SelectOptions } from '../client/options.ts';
import { keyOf, qualifiedName, type Resource } from '../client/resource.ts';
import { type Mirror, Reflector } from './reflector.ts';
import { isOlderVersion, Tombstones } from './resource-version.ts';
import { type Cache, type IndexFunction, Store } from './store.ts';

/** Called after the cache has changed. An exception is logged and does not affect other handlers. */
export interface Handler<T extends KubeObject> {
  onAdd?(object: T): void;
  onUpdate?(old: T, object: T): void;
  /**
   * `object` is the last known state. If the deletion itself was missed, for example during a disconnect, it may be
   * older.
   */
  onDelete?(object: T): void;
}

/** Options of {@link Informer}. The selectors limit what is fetched and watched. */
export interface InformerOptions<T extends KubeObject> extends SelectOptions {
  /** Reduces what is kept in memory, for example by dropping `metadata.managedFields`. Returns the object to cache. */
  transform?: (object: T) => T;
  clock?: Clock;
  random?: Random;
  log?: Logger;
}

/**
 * A local copy of one resource, or of the part that the selectors choose, which is kept current with a watch. Reading
 * from it costs no request.
 *
 * There is no periodic resync, unlike in client-go: handlers are called only when an object has changed. After a
 * disconnect, the informer resumes the watch or compares a new list with its cache, and handlers receive the
 * difference. A controller that must act periodically returns `requeueAfter`.
 *
 * @example
 * const pods = new Informer(client, PODS, { fieldSelector: 'spec.nodeName=node-1' });
 * pods.addIndex('ip', (pod) => (pod.status?.podIP ? [pod.status.podIP] : []));
 * pods.addHandler({ onAdd: (pod) => console.log('new pod', keyOf(pod)) });
 * void pods.run(signal);
 * await pods.synced;
 * pods.cache.byIndex('ip', '10.0.0.7');
 */
export class Informer<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  readonly #store = new Store<T>((error) => this.#log.error({ err: error }, 'an index function threw'));
  readonly #tombstones = new Tombstones();
  readonly #handlers = new Set<Handler<T>>();
  readonly #reflector: Reflector<T>;
  readonly #transform: ((object: T) => T) | undefined;
  readonly #log: Logger;
  /** Resolves when the cache holds the complete state for the first time. */
  readonly synced: Promise<void>;
  #hasSynced = false;
  #trouble: unknown;
  #resolveSynced: () => void = () => {};

  constructor(client: KubeClient, resource: Resource<T>, options: InformerOptions<T> = {}) {
    const { transform, clock = systemClock, random = Math.random, log = silentLogger, ...select } = options;
    this.resource = resource;
    this.synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
    this.#transform = transform;
    this.#log = log.child({ resource: qualifiedName(resource) });
    const mirror: Mirror<T> = {
      keep: (object) => this.#shrink(object),
      replace: (objects) => this.#replace(objects),
      apply: (type, object) => this.#apply(type, object),
    };
    this.#reflector = new Reflector(client, resource, mirror, {
      select,
      clock,
      random,
      log: this.#log,
      onPhase: (phase) => {
        if (phase === 'watching') this.#trouble = undefined;
      },
      onFailure: (error) => {
        this.#trouble = error;
      },
    });
  }

  /** The current objects. Objects are shared: copy an object before changing it. */
  get cache(): Cache<T> {
    return this.#store;
  }

  /** Whether the cache has held the complete state at least once. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** The error of the last attempt to follow the resource. Undefined if it succeeded. */
  get trouble(): unknown {
    return this.#trouble;
  }

  /** An index can be added at any time; it includes the objects that are already in the cache. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    this.#store.addIndex(name, valuesOf);
  }

  /**
   * Calls `onAdd` immediately for every object that is already in the cache. Returns a function that removes the
   * handler.
   */
  addHandler(handler: Handler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#store.list()) this.#notify(handler, () => handler.onAdd?.(object));
    return () => this.#handlers.delete(handler);
  }

  /** Keeps the cache current until the signal is aborted. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
  }

  /**
   * Replaces the cache with a complete list. Handlers receive the difference as ordinary events, so they need not
   * know that the watch was interrupted.
   */
  #replace(objects: T[]): void {
    this.#tombstones.clear();
    const gone = new Set(this.#store.keys());
    for (const object of objects) {
      gone.delete(keyOf(object));
      this.#set(object);
    }
    for (const key of gone) this.#delete(key);
    this.#hasSynced = true;
    this.#resolveSynced();
  }

  /** Applies one event, unless a newer state of the object is already known. */
  #apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    const key = keyOf(object);
    const { resourceVersion } = object.metadata;
    // API servers lag behind each other. After a reconnect, a lagging server may repeat events from the past.
    if (isOlderVersion(resourceVersion, this.#store.get(key)?.metadata.resourceVersion)) return;
    if (this.#tombstones.isBuried(key, resourceVersion)) return;
    if (type === 'DELETED') {
      this.#tombstones.bury(key, resourceVersion);
      this.#delete(key, object);
    } else this.#set(object);
  }

  /** Stores the object and calls the handlers, unless it is equal to the cached one. */
  #set(object: T): void {
    const old = this.#store.get(keyOf(object));
    if (old !== undefined && isSame(old, object)) return;
    if (old !== undefined && old.metadata.uid !== object.metadata.uid) {
      // Same name, different UID: the object was deleted and recreated while the watch was interrupted.
      this.#delete(keyOf(object));
      this.#set(object);
      return;
    }
    this.#store.set(object);
    this.#notifyAll((handler) =>
      old === undefined ? handler.onAdd?.(object) : handler.onUpdate?.(old, object),
    );
  }

  #delete(key: string, last?: T): void {
    const old = this.#store.get(key);
    if (old === undefined) return;
    this.#store.delete(key);
    this.#notifyAll((handler) => handler.onDelete?.(last ?? old));
  }

  #shrink(object: T): T {
    try {
      return this.#transform === undefined ? object : this.#transform(object);
    } catch (error) {
      this.#log.error({ err: error }, 'the transform function threw; the object is kept unchanged');
      return object;
    }
  }

  #notifyAll(call: (handler: Handler<T>) => void): void {
    for (const handler of [...this.#handlers]) this.#notify(handler, call);
  }

  #notify(handler: Handler<T>, call: (handler: Handler<T>) => void): void {
    try {
      call(handler);
    } catch (error) {
      this.#log.error({ err: error }, 'an event handler threw');
    }
  }
}

/**
 * Compares content as well, because a filtering proxy may send the object again, changed, with the same
 * resourceVersion.
 */
const isSame = (old: KubeObject, object: KubeObject): boolean =>
  old.metadata.resourceVersion === object.metadata.resourceVersion && isDeepStrictEqual(old, object);
