import { aborted } from '../base/clock.ts';
import type { KubeObject } from '../base/object.ts';
import type { KubeClient } from '../client/client.ts';
import type { SelectOptions } from '../client/options.ts';
import { qualifiedName, type Resource } from '../client/resource.ts';
import { Informer, type InformerOptions } from './informer.ts';

/** Options that apply to all informers. */
type Shared = Pick<InformerOptions<KubeObject>, 'transform' | 'clock' | 'random' | 'log'>;

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
  readonly #informers = new Map<string, Informer<KubeObject>>();
  #start: ((informer: Informer<KubeObject>) => void) | undefined;

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
    let informer = this.#informers.get(id);
    if (informer === undefined) {
      informer = new Informer<KubeObject>(this.#client, resource, { ...select, ...this.#options });
      this.#informers.set(id, informer);
      this.#start?.(informer);
    }
    // Safe: the key contains the resource, which determines T.
    return informer as unknown as Informer<T>;
  }

  /** Runs all informers, including those that are requested later, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#start !== undefined) throw new Error('the informers are already running');
    const running = new Set<Promise<void>>();
    this.#start = (informer) => running.add(informer.run(signal));
    for (const informer of this.#informers.values()) this.#start(informer);
    await aborted(signal);
    await Promise.all(running);
    this.#start = undefined;
  }

  /** Resolves when every informer requested so far has synced. */
  async synced(): Promise<void> {
    await Promise.all([...this.#informers.values()].map((informer) => informer.synced));
  }
}

const identify = (resource: Resource, { namespace, labelSelector, fieldSelector }: SelectOptions): string =>
  [qualifiedName(resource), resource.version, namespace ?? '', labelSelector ?? '', fieldSelector ?? ''].join(
    '\n',
  );
