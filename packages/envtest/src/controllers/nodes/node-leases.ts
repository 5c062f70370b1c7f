import {
  type Informer,
  isNotFound,
  isOlderVersion,
  type KubeClient,
  LEASES,
  type Lease,
} from '@tidegate/kube';

/** The namespace in which each node has a Lease with its own name. */
export const LEASE_NAMESPACE = 'kube-node-lease';

/**
 * The Leases that nodes renew as heartbeats, from the cache or from a direct read if that is newer. After an outage
 * the watch may take some time to resume; until then a missing heartbeat is the fault of this process.
 */
export class NodeLeases {
  readonly #client: KubeClient;
  readonly #informer: Informer<Lease>;
  /** Leases read directly while the cache was behind. */
  readonly #fresh = new Map<string, Lease>();

  constructor(client: KubeClient, informer: Informer<Lease>) {
    this.#client = client;
    this.#informer = informer;
  }

  of(nodeName: string): Lease | undefined {
    const cached = this.#informer.cache.get(`${LEASE_NAMESPACE}/${nodeName}`);
    const fresh = this.#fresh.get(nodeName);
    if (fresh === undefined || cached === undefined) return cached ?? fresh;
    if (isOlderVersion(cached.metadata.resourceVersion, fresh.metadata.resourceVersion)) return fresh;
    this.#fresh.delete(nodeName);
    return cached;
  }

  /** Reads the Lease from the API server. Afterwards `of` returns a Lease at least that new. */
  async refresh(nodeName: string, signal: AbortSignal): Promise<void> {
    try {
      const target = { namespace: LEASE_NAMESPACE, name: nodeName };
      this.#fresh.set(nodeName, await this.#client.get(LEASES, target, { signal }));
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  forget(nodeName: string): void {
    this.#fresh.delete(nodeName);
  }
}
