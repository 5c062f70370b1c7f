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

/** The API server did not respond in time, so it is unknown whether the object exists. */
export class ReferenceTimeoutError extends Error {
  override readonly name = 'ReferenceTimeoutError';
}

/** Options of {@link References}. */
export interface ReferencesOptions {
  client: KubeClient;
  log: Logger;
  /** How long a read waits for an object that is fetched for the first time. */
  timeoutMs?: number;
}

interface Watched {
  informer: Informer<Referenced>;
  stop: AbortController;
  /** The uids of the pods that use it. */
  holders: Set<string>;
}

/**
 * The ConfigMaps and Secrets that the pods of this node refer to. The node authorizer lets a node read each of them
 * only by name, so each has its own watch, shared by all pods that use it. The watch stays open while a pod uses the
 * object, so that containers can be restarted while the API server is unreachable.
 */
export class References {
  readonly #options: ReferencesOptions;
  readonly #watched = new Map<string, Watched>();
  readonly #listeners = new Set<(uids: ReadonlySet<string>) => void>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: ReferencesOptions) {
    this.#options = options;
  }

  /** Declares that the pod uses these references from now on, and no others. */
  hold(uid: string, references: readonly Reference[]): void {
    const wanted = new Set(references.map(keyOfReference));
    for (const reference of references) this.#watch(reference).holders.add(uid);
    for (const [key, watched] of this.#watched) if (!wanted.has(key)) this.#release(key, watched, uid);
  }

  release(uid: string): void {
    for (const [key, watched] of this.#watched) this.#release(key, watched, uid);
  }

  /** The current object; undefined when it does not exist. */
  async get(reference: Reference): Promise<Referenced | undefined> {
    const watched = this.#watched.get(keyOfReference(reference));
    if (watched === undefined) return this.#fetch(reference);
    if (!watched.informer.hasSynced) await this.#synced(watched.informer, reference);
    return watched.informer.cache.get(`${reference.namespace}/${reference.name}`);
  }

  /** Calls `listener` with the uids of all pods that use an object when it has changed. */
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

  /** The shared watch of one object; started when the first pod needs it. */
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
    const notify = (): void => {
      for (const listener of this.#listeners) listener(watched.holders);
    };
    informer.addHandler({ onAdd: notify, onUpdate: notify, onDelete: notify });
    this.#watched.set(key, watched);
    return watched;
  }

  /** Stops the watch when the last pod has released it. */
  #release(key: string, { holders, stop }: Watched, uid: string): void {
    if (!holders.delete(uid) || holders.size > 0) return;
    stop.abort();
    this.#watched.delete(key);
  }

  #synced({ synced }: Informer<Referenced>, { kind, namespace, name }: Reference): Promise<void> {
    const { timeoutMs = 10_000 } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const what = `${kind.toLowerCase()} ${JSON.stringify(`${namespace}/${name}`)}`;
        reject(new ReferenceTimeoutError(`the API server does not respond; still waiting for ${what}`));
      }, timeoutMs);
      void synced.then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

const resourceOf = ({ kind }: Reference): Resource<Referenced> => (kind === 'Secret' ? SECRETS : CONFIG_MAPS);
