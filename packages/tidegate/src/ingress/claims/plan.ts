import { ALL_HOSTS } from '../../api/index.ts';
import type { HostName } from '../model.ts';
import type { Ownership } from '../ownership/index.ts';

/** What decides about the recorded claims to a host. */
export interface Circumstances {
  /** Whether an Ingress of the namespace names the host. */
  isNamed(namespace: string): boolean;
  /** Whether the policy of the class lets the namespace have the host. */
  isAllowed(namespace: string): boolean;
  /** Whether more hosts can be reserved for the namespace. */
  canReserve(namespace: string): boolean;
  readonly now: number;
  /** How long a host is reserved for its namespace. */
  readonly reservationMs: number;
}

export interface ClaimPlan {
  readonly ended: readonly Ownership[];
  /** Claims that stay, but begin or end to be reserved. */
  readonly changed: readonly Ownership[];
  /** When the next reservation ends, in milliseconds since the epoch. */
  readonly nextEnd: number | undefined;
}

/**
 * Decides about the recorded claims to a host of a class. A claim stays as long as an Ingress of its namespace names the host
 * and the policy of the class allows it; afterwards it is reserved for a time. Nothing else ends it: not an older Ingress, and
 * not a later claim to a wildcard above the host. Of several claims to a host, the first stays; pass the earliest first.
 */
export function planClaims(
  host: HostName,
  recorded: readonly Ownership[],
  circumstances: Circumstances,
): ClaimPlan {
  const next = new Map<Ownership, Ownership>();
  for (const claim of recorded) {
    if (host !== ALL_HOSTS && next.size > 0) break;
    const after = nextState(claim, circumstances);
    if (after !== undefined) next.set(claim, after);
  }
  const ends = [...next.values()].flatMap(({ reservedUntil }) => timeOf(reservedUntil) ?? []);
  return {
    ended: recorded.filter((claim) => !next.has(claim)),
    changed: [...next].flatMap(([before, after]) => (before === after ? [] : [after])),
    nextEnd: ends.length === 0 ? undefined : Math.min(...ends),
  };
}

/** Undefined: the claim ends. */
function nextState(claim: Ownership, circumstances: Circumstances): Ownership | undefined {
  const { isNamed, isAllowed, canReserve, now, reservationMs } = circumstances;
  const { namespace, reservedUntil } = claim;
  if (!isAllowed(namespace)) return undefined;
  if (isNamed(namespace)) return reservedUntil === undefined ? claim : { ...claim, reservedUntil: undefined };
  if (reservationMs === 0) return undefined;
  const until = timeOf(reservedUntil);
  if (until !== undefined) return until > now ? claim : undefined;
  if (!canReserve(namespace)) return undefined;
  return { ...claim, reservedUntil: new Date(now + reservationMs).toISOString() };
}

/** Undefined if there is no valid time. */
function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}

/**
 * The namespaces that get a claim to the host: the one that has waited longest, or, for rules without a host, all.
 * `namespaces` is in this order. `isFree`: neither the policy nor another claim prevents it.
 */
export function newOwners(
  host: HostName,
  namespaces: readonly string[],
  kept: readonly Ownership[],
  isFree: (namespace: string) => boolean,
): string[] {
  if (host !== ALL_HOSTS) {
    const next = kept.length === 0 ? namespaces.find(isFree) : undefined;
    return next === undefined ? [] : [next];
  }
  const have = new Set(kept.map(({ namespace }) => namespace));
  return namespaces.filter((namespace) => !have.has(namespace) && isFree(namespace));
}
