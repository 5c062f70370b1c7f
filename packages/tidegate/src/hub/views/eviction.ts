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
 * Views of the node have limits of their own, with the same numbers. Lists that the kubelet depends on (see `isVital`) are
 * never evicted: without them, the node could not restart its pods while no API server is reachable. Single objects are
 * different. The kubelet reads each Secret and ConfigMap of its pods by name, and the hub is not notified when the last pod
 * that uses one is deleted. So the single objects of the node are evicted too, if there are too many. Their namespaces have
 * equal shares: a pod with thousands of ConfigMaps does not push out those of other tenants.
 */
export function victims<C extends Candidate>(
  views: Iterable<C>,
  limits: ViewLimits,
  holderOf: (identity: string) => Holder,
): C[] {
  const groups = new Map<Group, Piece<C>[]>(GROUPS.map((group) => [group, []]));
  for (const view of views) {
    if (!view.isIdle || view.key.identity === SHARED) continue;
    const isNode = view.key.identity === NODE;
    const single = isSingle(view.key);
    if (isVital(view.key) && !single) continue;
    const holder = isNode ? holderInNode(view.key) : holderOf(view.key.identity);
    groups
      .get(`${isNode ? 'node' : 'client'} ${single ? 'singles' : 'lists'}`)!
      .push({ item: view, holder, weight: 1, rank: view.usedAt });
  }
  return ['node', 'client'].flatMap((of) => {
    const forAll = (share: ShareLimits): ShareLimits =>
      of === 'node' ? { ...share, perIdentity: share.total } : share;
    const lists = groups.get(`${of} lists` as Group)!;
    const singles = groups.get(`${of} singles` as Group)!;
    const tooMany = [
      ...excess(lists, forAll(limits.lists)),
      ...excess(singles, forAll(limits.singles)),
    ];
    const gone = new Set(tooMany);
    const weighed = [...lists, ...singles]
      .filter(({ item }) => !gone.has(item) && !isVital(item.key))
      .map((piece) => ({ ...piece, weight: piece.item.progress?.bytes ?? 0 }));
    return [...tooMany, ...excess(weighed, forAll(limits.bytes))];
  });
}

type Group = `${'node' | 'client'} ${'lists' | 'singles'}`;
const GROUPS: Group[] = ['node lists', 'node singles', 'client lists', 'client singles'];

const holderInNode = ({ namespace }: ViewKey): Holder => ({
  identity: namespace,
  tenant: tenantOfNamespace(namespace),
});
