/**
 * Programming: the manager creates, programs and deletes load balancers through their provisioners. controller.ts calls the
 * methods of a provisioner for each L7Router, one call at a time. RouterSnapshots compiles the routes of the routers that
 * the manager programs, node-ports.ts replaces endpoints by node ports. leftovers.ts deletes load balancers of routers that do not exist. RouterPrograms keeps the results, which the status controllers report.
 *
 * An endpoint of a router that the manager programs changes:
 *   1. RouterSnapshots gives the EndpointSlice to the compiler of the router and enqueues the router.
 *   2. The controller takes the snapshot: one upstream has changed. It calls `reconcile` of the provisioner.
 *   3. The result replaces that of the last call. The status of the L7Router, and that of Ingresses, follows.
 */
export { provisionController } from './controller.ts';
export { cleanUpLeftovers } from './leftovers.ts';
export { oneSnapshot, type SnapshotObjects } from './one-snapshot.ts';
export { type RouterProgram, RouterPrograms } from './router-programs.ts';
export { RouterSnapshots } from './router-snapshots.ts';
