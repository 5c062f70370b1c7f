import type { Cache, Lease, Node } from '@tidegate/kube';
import type { Membership } from './membership.ts';
import { readyStatusOf } from './pool-status.ts';

export interface ReachSources {
  membership: Pick<Membership, 'poolOf' | 'nodesOf'>;
  nodes: Pick<Cache<Node>, 'get'>;
  /** As the API server knows it now: what is asked about follows so soon that a cache may not have seen it. */
  nodeNow(name: string): Promise<Node | undefined>;
  /** That by which a node shows that it is alive. */
  leaseOf(node: string): Promise<Lease | undefined>;
}

const KINDS = ['NodePool', 'NodeGroup'] as const;

/** Where a node has not said it. */
const USUAL_LEASE_SECONDS = 40;

/**
 * The pool of a node that nobody hears, if no other node of it was heard for longer: then it is the link that is gone,
 * and the nodes are as well as before, for all anybody knows. Undefined when others are still heard: then it is the node.
 */
export async function poolOutOfReach(name: string, sources: ReachSources): Promise<string | undefined> {
  const { nodes, nodeNow, leaseOf } = sources;
  const pools = poolsOf(name, sources);
  if (pools.length === 0 || readyStatusOf(await nodeNow(name)) !== 'Unknown') return undefined;
  const lease = await leaseOf(name);
  const heard = heardAt(lease);
  if (heard === undefined) return undefined;
  // Those that fall silent together were heard last within a fraction of it, and no sooner is the first one missed.
  const together = ((lease?.spec?.leaseDurationSeconds ?? USUAL_LEASE_SECONDS) * 1000) / 2;
  for (const peer of peersOf(name, pools, sources)) {
    if (readyStatusOf(nodes.get(peer)) !== 'Ready') continue;
    const peerHeard = heardAt(await leaseOf(peer));
    if (peerHeard !== undefined && peerHeard > heard + together) return undefined;
  }
  return pools[0]?.name;
}

const poolsOf = (node: string, { membership }: ReachSources) =>
  KINDS.flatMap((kind) => {
    const name = membership.poolOf(kind, node);
    return name === undefined ? [] : [{ kind, name }];
  });

const peersOf = (
  node: string,
  pools: ReturnType<typeof poolsOf>,
  { membership }: ReachSources,
): Iterable<string> => {
  const peers = new Set(pools.flatMap(({ kind, name }) => [...membership.nodesOf(kind, name)]));
  peers.delete(node);
  return peers;
};

/** By the clock of the API server, which notes who wrote last: those of nodes may differ by more than matters here. */
function heardAt(lease: Lease | undefined): number | undefined {
  const written = (lease?.metadata.managedFields ?? []).map(({ time }) => Date.parse(time ?? ''));
  const said = Date.parse(lease?.spec?.renewTime ?? '');
  const latest = Math.max(...written.filter((time) => !Number.isNaN(time)));
  const heard = Number.isFinite(latest) ? latest : said;
  return Number.isNaN(heard) ? undefined : heard;
}
