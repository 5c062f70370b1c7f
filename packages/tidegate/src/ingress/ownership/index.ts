/**
 * Which namespace owns which host of a class. A HostClaim records it; the rules here decide with the recorded claims and the policy of
 * the class. Pure, so that admission, the manager and all routers decide in the same way.
 *
 * Tenant B creates an Ingress for `pay.example.com` below `*.example.com` of tenant A:
 *   1. Admission asks `refusalOf`. It finds the claim of A to the wildcard, and the Ingress is rejected.
 *   2. If admission was bypassed, the manager (`../claims`) asks `refusalOf` too, and records no claim for B.
 *   3. Routers serve a host only for the namespace that `ClaimIndex` names. Without a claim, they serve nothing of B.
 */
export { ClaimIndex, type Ownership, ownershipOf } from './claim-index.ts';
export { newHostClaim } from './new-claim.ts';
export { hostConflict, policyRefusal, type Refusal, refusalOf, type Wish } from './refusal.ts';
export { reservationMsOf } from './reservation.ts';
