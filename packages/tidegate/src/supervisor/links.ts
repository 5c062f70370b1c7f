/**
 * The links between the API server and the nodes. A link has two relays: one carries the connections of the node's
 * hub to the API server, the other those of the API server to the node's agent (logs, exec). Cutting a link closes
 * both, so the two sides see what they would see when the network between them fails.
 */
import { codeOf, SupervisorError } from './error.ts';
import { freePort } from './free-port.ts';
import { type Endpoint, Relay } from './relay.ts';
import { addressOf, type ClusterState, type NodeState } from './state.ts';

interface Link {
  toApi: Relay;
  toNode: Relay;
}

/** The links of all nodes. Whether a link is cut is stored in the cluster state, so it stays cut across restarts. */
export class Links {
  readonly #cluster: ClusterState;
  readonly #links = new Map<string, Link>();

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  /**
   * Opens the links of all nodes that are not cut. A relay to the API server whose port is in use gets another port.
   */
  async open(): Promise<void> {
    const ours = new Set<number>();
    for (const node of this.#cluster.nodes) {
      node.apiPort = await freePort(node.apiPort, ours);
      ours.add(node.apiPort);
      const link = this.#linkOf(node);
      this.#links.set(node.name, link);
      if (!node.cut) await openLink(link);
    }
  }

  async cut(node: NodeState): Promise<void> {
    node.cut = true;
    const link = this.#links.get(node.name);
    await Promise.all([link?.toApi.cut(), link?.toNode.cut()]);
  }

  /** The state changes only after both relays are open, so a failed attempt leaves the link cut. */
  async mend(node: NodeState): Promise<void> {
    const link = this.#links.get(node.name);
    if (link !== undefined) await openLink(link);
    node.cut = false;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#links.values()].flatMap(({ toApi, toNode }) => [toApi.cut(), toNode.cut()]));
  }

  #linkOf(node: NodeState): Link {
    const host = addressOf(this.#cluster, node);
    const { port, ports } = this.#cluster;
    const api = { host: '127.0.0.1', port };
    return {
      toApi: new Relay({ host: '127.0.0.1', port: node.apiPort }, api),
      toNode: new Relay({ host, port: ports.kubelet }, { host, port: ports.agent }),
    };
  }
}

/** Opens both relays of a link, or neither. */
async function openLink({ toApi, toNode }: Link): Promise<void> {
  for (const relay of [toApi, toNode]) {
    try {
      await relay.open();
    } catch (cause) {
      await toApi.cut();
      throw explain(relay.listen, cause);
    }
  }
}

/** Turns "address in use" into an error that the user can act on. */
function explain({ host, port }: Endpoint, cause: unknown): unknown {
  if (codeOf(cause) !== 'EADDRINUSE') return cause;
  return new SupervisorError(
    `port ${port} on ${host}, which belongs to this cluster, is in use by another program, possibly another cluster; stop that program first`,
    { cause },
  );
}
