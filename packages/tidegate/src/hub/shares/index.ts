/**
 * Fairness. Clients of a node do not trust each other, and everything that the hub keeps for them is bounded. A bound for
 * all clients together would let one client push out what others need while no API server is reachable, so each client and
 * each tenant has a share. What belongs to the node itself, and shared views, are not in any share.
 *
 *   holder.ts     the cause of something: an identity, and the tenant that it belongs to
 *   fair-map.ts   a bounded map that evicts within the shares, for example of access decisions
 *   excess.ts     the same for things that live elsewhere, for example views
 *   allowance.ts  limits what is in use and cannot be evicted, for example open watches
 */
export { type Account, Allowance, UNLIMITED } from './allowance.ts';
export { excess, type Piece } from './excess.ts';
export { FairMap } from './fair-map.ts';
export { type Holder, tenantOfNamespace, tenantOfUser } from './holder.ts';
export type { ShareLimits } from './limits.ts';
