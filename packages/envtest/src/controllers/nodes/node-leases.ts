import {
  type Informer,
  isNotFound,
  isOlderVersion,
  type KubeClient,
  LEASES,
  type Lease,
} from '@tidegate/kube';

export const LEASE_NAMESPACE = 'kube-node-lease';

/**
 * The Leases by which nodes say that they live: from the cache, or newer when we have asked. After an outage the watch
 * may take its time to come back; until then it is us who do not hear.
 */
export class NodeLeases {
  readonly #client: KubeClient;
  readonly #informer: Informer<Lease>;
  /** What the server told us while the cache was behind. */
  readonly #asked = new Map<string, Lease>();

  constructor(client: KubeClient, informer: Informer<Lease>) {
    this.#client = client;
    this.#informer = informer;
  }

  of(nodeName: string): Lease | undefined {
    const cached = this.#informer.cache.get(`${LEASE_NAMESPACE}/${nodeName}`);
    const asked = this.#asked.get(nodeName);
    if (asked === undefined || cached === undefined) return cached ?? asked;
    if (isOlderVersion(cached.metadata.resourceVersion, asked.metadata.resourceVersion)) return asked;
    this.#asked.delete(nodeName);
    return cached;
  }

  /** From here on `of` is at least as new as the server is now. */
  async ask(nodeName: string, signal: AbortSignal): Promise<void> {
    try {
      const target = { namespace: LEASE_NAMESPACE, name: nodeName };
      this.#asked.set(nodeName, await this.#client.get(LEASES, target, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  forget(nodeName: string): void {
    this.#asked.delete(nodeName);
  }
}
