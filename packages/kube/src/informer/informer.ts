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

/** Told after the cache has changed. Whoever throws is reported and otherwise ignored. */
export interface Handler<T extends KubeObject> {
  onAdd?(object: T): void;
  onUpdate?(old: T, object: T): void;
  /** `object` is the last state known; when the deletion itself was missed, it may be an older one. */
  onDelete?(object: T): void;
}

export interface InformerOptions<T extends KubeObject> extends SelectOptions {
  /** Shrinks what is kept, such as dropping `metadata.managedFields`. Returns the object to cache. */
  transform?: (object: T) => T;
  clock?: Clock;
  random?: Random;
  log?: Logger;
}

/** A local, always current copy of one resource, or of the part of it that the selectors choose. */
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
    this.#reflector = new Reflector(client, resource, mirror, { select, clock, random, log: this.#log });
  }

  get cache(): Cache<T> {
    return this.#store;
  }

  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Can be added at any time; what is there already is filed at once. */
  addIndex(name: string, valuesOf: IndexFunction<T>): void {
    this.#store.addIndex(name, valuesOf);
  }

  /** What is in the cache already arrives as adds, at once. Returns how to remove the handler. */
  addHandler(handler: Handler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#store.list()) this.#tell(handler, () => handler.onAdd?.(object));
    return () => this.#handlers.delete(handler);
  }

  /** Works until the signal is aborted. Start it once. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#reflector.run(signal);
  }

  /** Everything that happened while we were not looking comes out as the same events, as far as it can be known. */
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

  #apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: T): void {
    const key = keyOf(object);
    const { resourceVersion } = object.metadata;
    // After reconnecting to a server that lags behind, the past may come again.
    if (isOlderVersion(resourceVersion, this.#store.get(key)?.metadata.resourceVersion)) return;
    if (this.#tombstones.isBuried(key, resourceVersion)) return;
    if (type === 'DELETED') {
      this.#tombstones.bury(key, resourceVersion);
      this.#delete(key, object);
    } else this.#set(object);
  }

  #set(object: T): void {
    const old = this.#store.get(keyOf(object));
    if (old !== undefined && isSame(old, object)) return;
    if (old !== undefined && old.metadata.uid !== object.metadata.uid) {
      // Deleted and made again while we were not looking: two objects that share a name.
      this.#delete(keyOf(object));
      this.#set(object);
      return;
    }
    this.#store.set(object);
    this.#tellAll((handler) =>
      old === undefined ? handler.onAdd?.(object) : handler.onUpdate?.(old, object),
    );
  }

  #delete(key: string, last?: T): void {
    const old = this.#store.get(key);
    if (old === undefined) return;
    this.#store.delete(key);
    this.#tellAll((handler) => handler.onDelete?.(last ?? old));
  }

  #shrink(object: T): T {
    try {
      return this.#transform === undefined ? object : this.#transform(object);
    } catch (error) {
      this.#log.error({ err: error }, 'the transform threw; keeping the object as it is');
      return object;
    }
  }

  #tellAll(tell: (handler: Handler<T>) => void): void {
    for (const handler of [...this.#handlers]) this.#tell(handler, tell);
  }

  #tell(handler: Handler<T>, tell: (handler: Handler<T>) => void): void {
    try {
      tell(handler);
    } catch (error) {
      this.#log.error({ err: error }, 'an event handler threw');
    }
  }
}

/** A proxy may filter an object anew without a new resourceVersion, so an equal one is not proof enough. */
const isSame = (old: KubeObject, object: KubeObject): boolean =>
  old.metadata.resourceVersion === object.metadata.resourceVersion && isDeepStrictEqual(old, object);
