/**
 * The manager: the part of Tidegate that runs once per cluster, in one process. This folder owns only the order in which
 * the parts start and stop. Several managers can run; one of them is the leader.
 *
 * It has four parts (names.ts), which can run in one process or in one process each. Every part follows the pool
 * membership (`followMembership`).
 * - `admission` serves the webhooks, in every manager that has this part.
 * - The leader of `pools` runs the controllers of pools and approves the certificates of hubs, the leader of `routers` those
 *   of routers and front doors, the leader of `apps` that of applications.
 *
 * Walk: a start. manager.ts waits for the namespaces and the CRDs (install.ts). Then two groups start, each with caches of its own
 * (caches.ts). One serves the webhook and registers it (admission.ts). The other waits for the lease of each part and runs its
 * controllers (controllers.ts). The manager is ready when the webhook serves and the caches are complete.
 *
 * A lost lease: the controllers stop, and start again with new caches. Admission goes on.
 *
 * A shutdown follows the reverse order.
 */
export { runManager } from './manager.ts';
export { PARTS, type Part } from './names.ts';
export type { ManagerOptions } from './options.ts';
