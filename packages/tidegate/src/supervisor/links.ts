/**
 * The links between the API server and the nodes. A link has two relays: one carries the connections of the node's
 * hub to the API server, the other those of the API server to the node's agent (logs, exec). Cutting a link closes
 * both, so the two sides see what they would see when the network between them fails.
 */
import { randomInt } from 'node:crypto';
import { codeOf, SupervisorError } from './error.ts';
import { type Endpoint, Relay } from './relay.ts';
import { addressOf, type ClusterState, type NodeState } from './state.ts';

/** The API server connects to KUBELET_PORT, where the relay listens; the agent itself listens on AGENT_PORT. */
export const KUBELET_PORT = 10250;
export const AGENT_PORT = 10251;
/** The ports of a node's hub, on the address of the node. */
export const HUB_PORTS = { http: 10261, https: 10268, admin: 10267 };

/** Outside the ephemeral ports of common operating systems and outside the NodePort range. */
const PORTS = { first: 20_000, last: 29_999 };
const RANGES = { first: 64, last: 127 };

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
    const api = { host: '127.0.0.1', port: this.#cluster.port };
    return {
      toApi: new Relay({ host: '127.0.0.1', port: node.apiPort }, api),
      toNode: new Relay({ host, port: KUBELET_PORT }, { host, port: AGENT_PORT }),
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

/**
 * Chooses 127.X.0.0/16 for a new cluster: a range in which no other cluster listens. The hub's port is checked too,
 * because a node whose link is cut has no relay.
 */
export async function chooseRange(): Promise<number> {
  const count = RANGES.last - RANGES.first + 1;
  const start = randomInt(count);
  for (let i = 0; i < count; i++) {
    const range = RANGES.first + ((start + i) % count);
    const first = `127.${range}.0.1`;
    const free = [KUBELET_PORT, AGENT_PORT, HUB_PORTS.admin].map((port) => isFree({ host: first, port }));
    if ((await Promise.all(free)).every(Boolean)) return range;
  }
  throw new SupervisorError(
    `port ${KUBELET_PORT} is in use on every loopback address, possibly by a kubelet on this machine; stop it first`,
  );
}

/** The wanted port on 127.0.0.1 if it is free, otherwise any free port; 0 means no preference. */
export async function freePort(wanted: number, taken: ReadonlySet<number> = new Set()): Promise<number> {
  let port = wanted;
  while (port === 0 || taken.has(port) || !(await isFree({ host: '127.0.0.1', port }))) {
    port = randomInt(PORTS.first, PORTS.last + 1);
  }
  return port;
}

/** Whether it is possible to listen on the endpoint now. */
export async function isFree(endpoint: Endpoint): Promise<boolean> {
  const probe = new Relay(endpoint, endpoint);
  try {
    await probe.open();
    await probe.cut();
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'EADDRINUSE') return false;
    if (codeOf(cause) !== 'EADDRNOTAVAIL') throw cause;
    throw new SupervisorError(
      `the address ${endpoint.host} is not available: the nodes of the cluster need all of 127.0.0.0/8 on the loopback interface, which is the default on Linux`,
      { cause },
    );
  }
}
