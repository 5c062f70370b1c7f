import type { Holder } from './holder.ts';
import type { ShareLimits } from './limits.ts';

/** Something that is kept, and that can be deleted to make room. */
export interface Piece<T> {
  readonly item: T;
  readonly holder: Holder;
  /** What it counts towards the limits. */
  readonly weight: number;
  /** Of one identity, the piece with the lowest rank is deleted first, for example the least recently used. */
  readonly rank: number;
}

/**
 * Chooses what to delete, so that the rest is within the limits. As in FairMap, an identity above its limit loses its own
 * pieces, and the largest tenant loses what is above the total.
 */
export function excess<T>(pieces: readonly Piece<T>[], { perIdentity, total }: ShareLimits): T[] {
  const tenants = groupedByHolder(pieces);
  const gone: T[] = [];
  let all = 0;
  for (const tenant of tenants.values()) {
    for (const identity of tenant.identities.values()) {
      while (identity.weight > perIdentity) gone.push(takeFirst(tenant, identity));
    }
    all += tenant.weight;
  }
  while (all > total) {
    const tenant = heaviest(tenants.values());
    const before = tenant.weight;
    gone.push(takeFirst(tenant, heaviest(tenant.identities.values())));
    all -= before - tenant.weight;
  }
  return gone;
}

interface Group<T> {
  weight: number;
  readonly pieces: Piece<T>[];
  /** The index of the next piece to delete, once the pieces are sorted by rank. */
  next: number | undefined;
}

interface Tenant<T> {
  weight: number;
  readonly identities: Map<string, Group<T>>;
}

function groupedByHolder<T>(pieces: readonly Piece<T>[]): Map<string, Tenant<T>> {
  const tenants = new Map<string, Tenant<T>>();
  for (const piece of pieces) {
    // A piece without weight never makes room.
    if (piece.weight === 0) continue;
    const { tenant: name, identity } = piece.holder;
    const tenant = tenants.get(name) ?? { weight: 0, identities: new Map<string, Group<T>>() };
    tenants.set(name, tenant);
    const group = tenant.identities.get(identity) ?? { weight: 0, pieces: [], next: undefined };
    tenant.identities.set(identity, group);
    group.pieces.push(piece);
    group.weight += piece.weight;
    tenant.weight += piece.weight;
  }
  return tenants;
}

function takeFirst<T>(tenant: Tenant<T>, group: Group<T>): T {
  // Usually nothing is too much, so that nothing needs to be sorted.
  if (group.next === undefined) group.pieces.sort((a, b) => a.rank - b.rank);
  const index = group.next ?? 0;
  const { item, weight } = group.pieces[index]!;
  group.next = index + 1;
  group.weight -= weight;
  tenant.weight -= weight;
  return item;
}

function heaviest<G extends { weight: number }>(groups: Iterable<G>): G {
  let found: G | undefined;
  for (const group of groups) if (found === undefined || group.weight > found.weight) found = group;
  return found!;
}
