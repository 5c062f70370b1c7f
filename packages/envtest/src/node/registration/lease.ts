import {
  ApiStatusError,
  type Clock,
  isNotFound,
  isServerUnavailable,
  type KubeClient,
  LEASES,
  type Lease,
  type Node,
} from '@tidegate/kube';

const NAMESPACE = 'kube-node-lease';
const DURATION_SECONDS = 40;
/** The renewal may fail three times before the Lease expires. */
export const RENEW_MS = (DURATION_SECONDS * 1000) / 4;
const DEADLINE_MS = 10_000;

/** The heartbeat of a node. It is cheaper than a status update and therefore sent more often (KEP-589). */
export class NodeLease {
  readonly #client: KubeClient;
  readonly #node: () => Node;
  readonly #clock: Clock;
  #lease: Lease | undefined;

  /** `node` returns the current Node: after a deletion and a new registration, the Lease has another owner. */
  constructor(client: KubeClient, node: () => Node, clock: Clock) {
    this.#client = client;
    this.#node = node;
    this.#clock = clock;
  }

  /**
   * Renews the Lease. The first time it is read, because an earlier agent may have left one, and because the hub can
   * only renew an existing Lease while the API server is unreachable. If the Lease was deleted or written by another
   * client in the meantime, it is read and written once more.
   */
  async renew(signal: AbortSignal): Promise<void> {
    this.#lease ??= await this.#read(signal);
    try {
      await this.#write(signal);
    } catch (error) {
      // API servers reject an update of a deleted object in different ways, so read what is there.
      if (!(error instanceof ApiStatusError) || isServerUnavailable(error)) throw error;
      this.#lease = await this.#read(signal);
      await this.#write(signal);
    }
  }

  async #write(signal: AbortSignal): Promise<void> {
    const lease = this.#renewed(this.#lease);
    const options = { signal, deadlineMs: DEADLINE_MS };
    this.#lease =
      this.#lease === undefined
        ? await this.#client.create<Lease>(LEASES, lease, options)
        : await this.#client.update(LEASES, lease, options);
  }

  async #read(signal: AbortSignal): Promise<Lease | undefined> {
    const target = { namespace: NAMESPACE, name: this.#node().metadata.name! };
    try {
      return await this.#client.get(LEASES, target, { signal, deadlineMs: DEADLINE_MS });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #renewed(lease: Lease | undefined): Lease {
    const { name = '', uid = '' } = this.#node().metadata;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      ...lease,
      metadata: {
        ...lease?.metadata,
        name,
        namespace: NAMESPACE,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }],
      },
      spec: {
        holderIdentity: name,
        leaseDurationSeconds: DURATION_SECONDS,
        renewTime: microTime(this.#clock.now()),
      },
    };
  }
}

const microTime = (now: number): string => new Date(now).toISOString().replace('Z', '000Z');
