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
/** A lease may fail to be renewed three times before others think that the node is gone. */
export const RENEW_MS = (DURATION_SECONDS * 1000) / 4;
const DEADLINE_MS = 10_000;

/** The sign of life that a node gives: cheaper than its status, and so given more often. */
export class NodeLease {
  readonly #client: KubeClient;
  readonly #node: () => Node;
  readonly #clock: Clock;
  #lease: Lease | undefined;

  /** `node` tells which it is now: one that was deleted and registered again is another, and owns another lease. */
  constructor(client: KubeClient, node: () => Node, clock: Clock) {
    this.#client = client;
    this.#node = node;
    this.#clock = clock;
  }

  /**
   * The first time it is read, since an earlier run may have left one; and only what exists can be renewed without a
   * link. Since it was last seen, it may have been deleted, or written by somebody else: then once more.
   */
  async renew(signal: AbortSignal): Promise<void> {
    this.#lease ??= await this.#read(signal);
    try {
      await this.#write(signal);
    } catch (error) {
      // How a server refuses to update what is gone differs: what counts is what is there.
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
