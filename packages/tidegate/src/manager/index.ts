/**
 * The manager: the part of Tidegate that runs once per cluster, in one process. This folder owns only the order in which
 * the parts start and stop. Several managers can run; one of them is the leader.
 *
 * It has four parts (names.ts), which can run in one process or in one process each. Every manager follows the pool
 * membership (`followMembership`).
 * - `admission` serves the webhooks, in every manager that has this part.
 * - The leader of `pools` runs the controllers of pools and approves the certificates of hubs, the leader of `routers` those
 *   of routers and front doors, the leader of `apps` that of applications.
 *
 * Walk: a start. manager.ts waits for the namespaces and the CRDs (install.ts), then for the informer caches. It starts
 * the webhook server and registers it (admission.ts), and reports ready. Then it waits for the lease of each other part and runs its
 * controllers.
 * A shutdown follows the reverse order.
 */
export { runManager } from './manager.ts';
export { PARTS, type Part } from './names.ts';
export type { ManagerOptions } from './options.ts';
