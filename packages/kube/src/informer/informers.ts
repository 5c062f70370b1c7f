import { aborted } from '../base/clock.ts';
import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { SelectOptions } from '../client/options.ts';
import { qualifiedName, type Resource } from '../client/resource.ts';
import { Informer, type InformerOptions } from './informer.ts';

/** Options that apply to all informers. */
type Shared = Pick<InformerOptions<KubeObject>, 'transform' | 'clock' | 'random' | 'log'>;

interface Started {
  readonly informer: Informer<KubeObject>;
  readonly end: AbortController;
}

/**
 * A factory that shares one informer per resource and selection, however many controllers ask for it.
 *
 * @example
 * const informers = new Informers(client);
 * const pods = informers.for(PODS);
 * void informers.run(signal);
 * await informers.synced();
 */
export class Informers {
  readonly #client: KubeClient;
  readonly #options: Shared;
  readonly #informers = new Map<string, Started>();
  #start: ((started: Started) => void) | undefined;
  #signal: AbortSignal | undefined;

  constructor(client: KubeClient, options: Shared = {}) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * The informer for this resource and selection, created on first use. Once `run` was called, new informers start at
   * once.
   */
  for<T extends KubeObject>(resource: Resource<T>, select: SelectOptions = {}): Informer<T> {
    const id = identify(resource, select);
    let started = this.#informers.get(id);
    if (started === undefined) {
      const informer = new Informer<KubeObject>(this.#client, resource, { ...select, ...this.#options });
      started = { informer, end: new AbortController() };
      this.#informers.set(id, started);
      this.#start?.(started);
    }
    // Safe: the key contains the resource, which determines T.
    return started.informer as unknown as Informer<T>;
  }

  /**
   * Ends an informer for a resource that the cluster no longer has: it would ask for it for ever. The next `for` creates a
   * new one.
   */
  end(ended: Informer): void {
    for (const [id, { informer, end }] of this.#informers) {
      if (informer !== ended) continue;
      this.#informers.delete(id);
      end.abort();
    }
  }

  /** The signal that ends the informers. Undefined before `run`. */
  get signal(): AbortSignal | undefined {
    return this.#signal;
  }

  /** Runs all informers, including those that are requested later, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#start !== undefined) throw new Error('the informers are already running');
    this.#signal = signal;
    const running = new Set<Promise<void>>();
    this.#start = ({ informer, end }) => {
      const run = informer.run(AbortSignal.any([signal, end.signal])).finally(() => running.delete(run));
      running.add(run);
    };
    for (const started of this.#informers.values()) this.#start(started);
    await aborted(signal);
    await Promise.all(running);
    this.#start = undefined;
  }

  /** The informers that have not synced yet. */
  unsynced(): Informer[] {
    return [...this.#informers.values()].flatMap(({ informer }) => (informer.hasSynced ? [] : [informer]));
  }

  /** Resolves when every informer requested so far has synced. */
  async synced(): Promise<void> {
    await Promise.all([...this.#informers.values()].map(({ informer }) => informer.synced));
  }
}

const identify = (resource: Resource, { namespace, labelSelector, fieldSelector }: SelectOptions): string =>
  [
    qualifiedName(resource),
    resource.version,
    resource.metadataOnly === true ? 'metadata' : '',
    namespace ?? '',
    labelSelector ?? '',
    fieldSelector ?? '',
  ].join('\n');
