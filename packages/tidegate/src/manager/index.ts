/**
 * The manager: the part of Tidegate that runs once per cluster, in one process. This folder owns only the order in which
 * the parts start and stop. Several managers can run; one of them is the leader.
 *
 * - Every manager follows the pool membership (`followMembership`) and serves the admission webhooks.
 * - The leader also runs the controllers of pools, applications, routers and front doors, and approves the certificates
 *   of hubs.
 *
 * Walk: a start. manager.ts waits for the namespace and the CRDs (install.ts), then for the informer caches. It starts
 * the webhook server and registers it, and reports ready. Then it waits for the leader lease and runs the controllers.
 * A shutdown follows the reverse order.
 */
export { type ManagerOptions, runManager } from './manager.ts';
