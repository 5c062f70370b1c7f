/**
 * The manager: all of Tidegate that runs once for a whole cluster, in one process. It owns nothing but the order in
 * which things start and stop; several may run, of which one leads.
 *   Every one keeps the membership of pools (`followMembership`) and answers API servers that ask for admission.
 *   The leader also runs the controllers, of pools, applications, routers and front doors, and approves the
 *   certificates of hubs.
 * A start: namespace and kinds are there -> caches are filled -> the webhook answers and is registered -> ready; then
 * whoever holds the lease leads. A stop goes the same way back.
 */
export { type ManagerOptions, runManager } from './manager.ts';
