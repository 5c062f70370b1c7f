/**
 * Records the owners of hosts. `../ownership` decides; this folder follows the Ingresses and writes the decisions as
 * HostClaims, where they survive restarts and where routers, admission and users see them.
 *
 * A user creates an Ingress for `shop.example.com`:
 *   1. host-demand.ts finds that a namespace names a host of a class that it did not name before.
 *   2. controller.ts reads the recorded claims and the policy of the class, and plan.ts decides which claims end and which
 *      begin.
 *   3. The HostClaim is created. Its name depends on class and host, so the API server accepts only one for each host.
 *   4. Routers and the manager receive it, and serve the host for this namespace.
 * The user deletes the Ingress: plan.ts reserves the host for the namespace, and controller.ts writes until when. If no Ingress
 * of the namespace names it by then, the claim is deleted, or moved to the namespace that has waited longest.
 */
export { hostClaims } from './controller.ts';
