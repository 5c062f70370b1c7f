import {
  CONFIG_MAPS,
  type ConfigMap,
  Informer,
  isNotFound,
  type KubeClient,
  type Logger,
  type Resource,
  SECRETS,
  type Secret,
} from '@tidegate/kube';
import { keyOfReference, type Reference } from './pod-references.ts';

export type Referenced = ConfigMap | Secret;

/** The server did not answer in time whether the object exists. */
export class ReferenceTimeoutError extends Error {
  override readonly name = 'ReferenceTimeoutError';
}

export interface ReferencesOptions {
  client: KubeClient;
  log: Logger;
  /** How long a read waits for an object that is being fetched for the first time. */
  timeoutMs?: number;
}

interface Watched {
  informer: Informer<Referenced>;
  stop: AbortController;
  /** The uids of the pods that need it. */
  holders: Set<string>;
}

/**
 * The ConfigMaps and Secrets that the pods of this node refer to. A node may read each of them by its name only, so
 * each has a watch of its own, shared by all pods that need it, and kept while one does: containers can then be
 * restarted while the API server is out of reach.
 */
export class References {
  readonly #options: ReferencesOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #listeners = new Set<(uids: ReadonlySet<string>) => void>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: ReferencesOptions) {
    this.#options = options;
  }

  /** The pod needs these from now on, and no others. */
  hold(uid: string, references: readonly Reference[]): void {
    const wanted = new Set(references.map(keyOfReference));
    for (const reference of references) this.#watch(reference).holders.add(uid);
    for (const [key, watched] of this.#watched) if (!wanted.has(key)) this.#letGo(key, watched, uid);
  }

  release(uid: string): void {
    for (const [key, watched] of this.#watched) this.#letGo(key, watched, uid);
  }

  /** The object as it is now; undefined when there is none. */
  async get(reference: Reference): Promise<Referenced | undefined> {
    const watched = this.#watched.get(keyOfReference(reference));
    if (watched === undefined) return this.#fetch(reference);
    if (!watched.informer.hasSynced) await this.#synced(watched.informer, reference);
    return watched.informer.cache.get(`${reference.namespace}/${reference.name}`);
  }

  /** Calls `listener` with the uids of all pods that an object concerns, after it has changed. */
  onChange(listener: (uids: ReadonlySet<string>) => void): void {
    this.#listeners.add(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    for (const { stop } of this.#watched.values()) stop.abort();
    this.#watched.clear();
    await Promise.all(this.#running);
  }

  async #fetch(reference: Reference): Promise<Referenced | undefined> {
    try {
      return await this.#options.client.get(resourceOf(reference), reference);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #watch(reference: Reference): Watched {
    const key = keyOfReference(reference);
    const existing = this.#watched.get(key);
    if (existing !== undefined) return existing;
    const { client, log } = this.#options;
    const stop = new AbortController();
    const informer = new Informer<Referenced>(client, resourceOf(reference), {
      namespace: reference.namespace,
      fieldSelector: `metadata.name=${reference.name}`,
      log,
    });
    const running = informer.run(stop.signal).finally(() => this.#running.delete(running));
    this.#running.add(running);
    const watched = { informer, stop, holders: new Set<string>() };
    const tell = (): void => {
      for (const listener of this.#listeners) listener(watched.holders);
    };
    informer.addHandler({ onAdd: tell, onUpdate: tell, onDelete: tell });
    this.#watched.set(key, watched);
    return watched;
  }

  #letGo(key: string, { holders, stop }: Watched, uid: string): void {
    if (!holders.delete(uid) || holders.size > 0) return;
    stop.abort();
    this.#watched.delete(key);
  }

  #synced({ synced }: Informer<Referenced>, { kind, namespace, name }: Reference): Promise<void> {
    const { timeoutMs = 10_000 } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const what = `${kind.toLowerCase()} ${JSON.stringify(`${namespace}/${name}`)}`;
        reject(new ReferenceTimeoutError(`the API server does not answer; still waiting for ${what}`));
      }, timeoutMs);
      void synced.then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

const resourceOf = ({ kind }: Reference): Resource<Referenced> => (kind === 'Secret' ? SECRETS : CONFIG_MAPS);
