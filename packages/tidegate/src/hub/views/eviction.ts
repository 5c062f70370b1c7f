import { excess, type Holder, type Piece, type ShareLimits, tenantOfNamespace } from '../shares/index.ts';
import type { ViewKey } from './view.ts';
import { isSingle, isVital, NODE, SHARED } from './view-key.ts';

/**
 * What the hub keeps of the views of clients. Each limit applies twice: to idle views, which are on disk, and to followed
 * views, which are also in memory (see FollowedShares). Sizes are bytes of JSON.
 */
export interface ViewLimits {
  /** The size of one view. Larger views are not stored; shared views have no limit. */
  viewBytes: number;
  /** The size of all views. */
  bytes: ShareLimits;
  /** The number of views that are not single objects. */
  lists: ShareLimits;
  /** The number of views of one object, for example the responses to GETs, and the Secrets that a router watches. */
  singles: ShareLimits;
}

export const DEFAULT_LIMITS: ViewLimits = {
  viewBytes: 32 << 20,
  bytes: { perIdentity: 128 << 20, total: 256 << 20 },
  lists: { perIdentity: 100, total: 500 },
  singles: { perIdentity: 2_000, total: 6_000 },
};

interface Candidate {
  readonly key: ViewKey;
  /** No client holds the view, and no watch follows it. Only idle views are evicted. */
  readonly isIdle: boolean;
  /** When a client last used the view, in milliseconds since the epoch. */
  readonly usedAt: number;
  readonly progress: { readonly bytes: number } | undefined;
}

/**
 * Chooses the idle views to delete, so that the remaining ones are within the limits. A client only loses its own views, or
 * views of its tenant if that has the most: see `excess`.
 *
 * Views of the node have limits of their own, with the totals of the others. Lists that the kubelet depends on (see
 * `isVital`) are never evicted: without them, the node could not restart its pods while no API server is reachable. Single
 * objects are different. The kubelet reads each Secret and ConfigMap of its pods by name, and the hub is not notified when
 * the last pod that uses one is deleted. So the single objects of the node are evicted too, if there are too many.
 */
export function victims<C extends Candidate>(
  views: Iterable<C>,
  limits: ViewLimits,
  holderOf: (identity: string) => Holder,
): C[] {
  const ofNode: Piece<C>[] = [];
  const ofClients: Piece<C>[] = [];
  for (const item of views) {
    const { key, isIdle, usedAt: rank } = item;
    if (!isIdle || key.identity === SHARED || (isVital(key) && !isSingle(key))) continue;
    if (key.identity === NODE) ofNode.push({ item, holder: THE_NODE, weight: 1, rank });
    else ofClients.push({ item, holder: holderOf(key.identity), weight: 1, rank });
  }
  const { lists, singles, bytes } = limits;
  const whole = ({ total }: ShareLimits): ShareLimits => ({ perIdentity: total, total });
  return [
    ...victimsOf(ofNode, { lists: whole(lists), singles: whole(singles), bytes: whole(bytes) }),
    ...victimsOf(ofClients, limits),
  ];
}

const THE_NODE: Holder = { identity: NODE, tenant: NODE };

function victimsOf<C extends Candidate>(
  pieces: readonly Piece<C>[],
  { lists, singles, bytes }: Omit<ViewLimits, 'viewBytes'>,
): C[] {
  const gone = new Set([
    ...excess(
      pieces.filter(({ item }) => !isSingle(item.key)),
      lists,
    ),
    ...tooManySingles(
      pieces.filter(({ item }) => isSingle(item.key)),
      singles,
    ),
  ]);
  const left = pieces.filter(({ item }) => !gone.has(item) && !isVital(item.key));
  const weighed = left.map((piece) => ({ ...piece, weight: piece.item.progress?.bytes ?? 0 }));
  return [...gone, ...excess(weighed, bytes)];
}

/**
 * The kubelet and routers read single objects for many tenants. So the namespaces in which one client reads have equal
 * shares too: a pod with thousands of ConfigMaps does not push out those of other tenants.
 */
function tooManySingles<C extends Candidate>(
  pieces: readonly Piece<C>[],
  { perIdentity, total }: ShareLimits,
): C[] {
  const byIdentity = new Map<string, Piece<C>[]>();
  for (const piece of pieces) {
    const { identity } = piece.holder;
    const own = byIdentity.get(identity) ?? [];
    byIdentity.set(identity, own);
    own.push(piece);
  }
  const gone = new Set<C>();
  for (const own of byIdentity.values()) {
    if (own.length <= perIdentity) continue;
    const byNamespace = own.map((piece) => ({ ...piece, holder: holderIn(piece.item.key.namespace) }));
    for (const view of excess(byNamespace, { perIdentity, total: perIdentity })) gone.add(view);
  }
  const left = pieces.filter(({ item }) => !gone.has(item));
  return [...gone, ...excess(left, { perIdentity, total })];
}

const holderIn = (namespace: string): Holder => ({
  identity: namespace,
  tenant: tenantOfNamespace(namespace),
});
