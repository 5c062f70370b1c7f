import type { DurableMap } from '@tidegate/disk';
import {
  type Clock,
  type ConnectionState,
  type KubeClient,
  type Logger,
  NODES,
  type Node,
} from '@tidegate/kube';

export interface NodeAddressesOptions {
  /** A client with the credentials of this node. */
  client: Pick<KubeClient, 'get'>;
  upstream: ConnectionState;
  memory: Pick<DurableMap, 'get' | 'put'>;
  clock: Clock;
  log: Logger;
}

interface Remembered {
  address?: string;
  /** Whether the hub of the node has ever been heard. */
  heard?: boolean;
}

/** Addresses rarely change, and the link may be slow. */
const READ_AGAIN_MS = 60_000;

/** The addresses of the nodes of the pool: read from their Node objects, and kept for the time without a link. */
export class NodeAddresses {
  readonly #options: NodeAddressesOptions;
  readonly #readAt = new Map<string, number>();
  readonly #failed = new Set<string>();

  constructor(options: NodeAddressesOptions) {
    this.#options = options;
  }

  /** Undefined if the address was never known. */
  async find(node: string, signal: AbortSignal): Promise<string | undefined> {
    const { upstream, clock } = this.#options;
    const remembered = await this.#recall(node);
    const isFresh = clock.monotonic() - (this.#readAt.get(node) ?? Number.NEGATIVE_INFINITY) < READ_AGAIN_MS;
    if (!upstream.online || (isFresh && remembered.address !== undefined)) return remembered.address;
    const address = await this.#read(node, signal);
    if (address === undefined) return remembered.address;
    if (address !== remembered.address) this.#remember(node, { ...remembered, address });
    return address;
  }

  async wasHeard(node: string): Promise<boolean> {
    return (await this.#recall(node)).heard === true;
  }

  async heard(node: string): Promise<void> {
    this.#remember(node, { ...(await this.#recall(node)), heard: true });
  }

  async #read(node: string, signal: AbortSignal): Promise<string | undefined> {
    const { client, clock, log } = this.#options;
    try {
      const { status } = (await client.get(NODES, { name: node }, { signal })) as Node;
      this.#readAt.set(node, clock.monotonic());
      this.#failed.delete(node);
      return status?.addresses?.find(({ type }) => type === 'InternalIP')?.address;
    } catch (err) {
      // One message is enough, until it works again.
      if (!signal.aborted && !this.#failed.has(node))
        log.warn({ err, node }, 'cannot read the address of a node of this pool; retrying');
      this.#failed.add(node);
      return undefined;
    }
  }

  async #recall(node: string): Promise<Remembered> {
    const bytes = await this.#options.memory.get(keyOf(node));
    return bytes === undefined ? {} : (JSON.parse(bytes.toString()) as Remembered);
  }

  #remember(node: string, what: Remembered): void {
    this.#options.memory.put(keyOf(node), Buffer.from(JSON.stringify(what)));
  }
}

const keyOf = (node: string): string => `group/${node}`;
