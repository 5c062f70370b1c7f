import type { Cache, Lease, Node } from '@tidegate/kube';
import { type NodeGroup, type NodePool, wholeNodePool } from '../api/index.ts';
import { autonomyOf, isAutonomous } from './autonomy.ts';
import type { Membership } from './membership.ts';
import { readyStatusOf } from './pool-status.ts';

export interface ReachabilitySources {
  membership: Pick<Membership, 'poolOf' | 'nodesOf'>;
  nodes: Pick<Cache<Node>, 'get'>;
  /** Reads the node from the API server. The admission request can arrive before the informer cache sees the change. */
  nodeNow(name: string): Promise<Node | undefined>;
  /** The Lease in `kube-node-lease`, which the kubelet renews. */
  leaseOf(node: string): Promise<Lease | undefined>;
  pools: Pick<Cache<NodePool>, 'get'>;
  groups: Pick<Cache<NodeGroup>, 'get'>;
  now(): number;
}

/** A pool that is unreachable as a whole, and keeps its pods. */
export interface UnreachablePool {
  readonly name: string;
  /** When the node was last heard of, by the clock of the API server. */
  readonly heardAt: number;
  /** When the autonomy of the node ends. Undefined: it has no limit. */
  readonly until?: number;
}

const KINDS = ['NodePool', 'NodeGroup'] as const;

/** The default of the kubelet. */
const DEFAULT_LEASE_SECONDS = 40;

/**
 * Returns the pool of an unreachable node if all other nodes of the pool stopped reporting at about the same time. The
 * most likely cause is then the link to the site, and the nodes keep running. Returns undefined if other nodes reported
 * for longer: then only the node itself failed. Returns undefined also if the node has no autonomy, or if its autonomy has
 * ended.
 */
export async function unreachablePoolOf(
  name: string,
  sources: ReachabilitySources,
): Promise<UnreachablePool | undefined> {
  const { nodes, nodeNow, leaseOf, now } = sources;
  const pools = poolsOf(name, sources);
  const node = pools.length === 0 ? undefined : await nodeNow(name);
  if (pools[0] === undefined || readyStatusOf(node) !== 'Unknown') return undefined;
  const lease = await leaseOf(name);
  const renewed = renewedAt(lease);
  if (renewed === undefined) return undefined;
  const autonomy = autonomyOf(node, poolObjectsOf(name, sources));
  if (!isAutonomous(autonomy, renewed, now())) return undefined;
  // Kubelets renew their lease several times per lease duration. Nodes that lose the link together therefore have
  // renewal times within a fraction of that duration, and the first of them turns Unknown only after all of it.
  const tolerance = ((lease?.spec?.leaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1000) / 2;
  for (const peer of peersOf(name, pools, sources)) {
    if (readyStatusOf(nodes.get(peer)) !== 'Ready') continue;
    const peerLease = await leaseOf(peer);
    if (hasJustReturned(nodes.get(peer), peerLease)) continue;
    const peerRenewed = renewedAt(peerLease);
    if (peerRenewed !== undefined && peerRenewed > renewed + tolerance) return undefined;
  }
  return {
    name: pools[0].name,
    heardAt: renewed,
    ...(autonomy.mode === 'duration' && { until: renewed + autonomy.ms }),
  };
}

function poolObjectsOf(node: string, { membership, pools, groups }: ReachabilitySources) {
  const pool = pools.get(membership.poolOf('NodePool', node) ?? '');
  return { pool: pool && wholeNodePool(pool), group: groups.get(membership.poolOf('NodeGroup', node) ?? '') };
}

const poolsOf = (node: string, { membership }: ReachabilitySources) =>
  KINDS.flatMap((kind) => {
    const name = membership.poolOf(kind, node);
    return name === undefined ? [] : [{ kind, name }];
  });

const peersOf = (
  node: string,
  pools: ReturnType<typeof poolsOf>,
  { membership }: ReachabilitySources,
): Iterable<string> => {
  const peers = new Set(pools.flatMap(({ kind, name }) => [...membership.nodesOf(kind, name)]));
  peers.delete(node);
  return peers;
};

/**
 * Whether the node is ready for less than the duration of a lease. When a link is restored, one node reports first and the
 * others follow within that time. It says nothing about them yet: without this, their endpoints would be removed until
 * they report. Both times are from the clock of the node.
 */
function hasJustReturned(node: Node | undefined, lease: Lease | undefined): boolean {
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  const readyMs = Date.parse(lease?.spec?.renewTime ?? '') - Date.parse(ready?.lastTransitionTime ?? '');
  return readyMs < (lease?.spec?.leaseDurationSeconds ?? DEFAULT_LEASE_SECONDS) * 1000;
}

/**
 * When the lease was last written. `managedFields` has the time of the API server, which is preferred because the
 * clocks of nodes can differ by more than the tolerance.
 */
function renewedAt(lease: Lease | undefined): number | undefined {
  const written = (lease?.metadata.managedFields ?? []).map(({ time }) => Date.parse(time ?? ''));
  const renewTime = Date.parse(lease?.spec?.renewTime ?? '');
  const latest = Math.max(...written.filter((time) => !Number.isNaN(time)));
  const time = Number.isFinite(latest) ? latest : renewTime;
  return Number.isNaN(time) ? undefined : time;
}
