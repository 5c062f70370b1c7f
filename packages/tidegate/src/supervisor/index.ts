/**
 * The embedded cluster as one thing that is started, watched, cut apart and stopped. This folder owns the state
 * directory (`state.ts`, `layout.ts`), the processes (`child.ts`, `commands.ts`), and the links between the API server
 * and the nodes (`links.ts`, `relay.ts`).
 *
 * One `tidegate up`:
 *   openCluster (`open.ts`) takes the lock of the state, waits for what is left of a run that was killed, and settles
 *   layout, addresses and ports -> a Supervisor opens the links, starts the API server, has the nodes' credentials
 *   signed, starts controllers and nodes, each behind its hub -> whatever ends is started again -> other commands reach
 *   it by the socket of `control.ts` -> stop ends all in the opposite order.
 */
export { describeChange } from './change.ts';
export { askSupervisor, type ControlRequest, ControlServer } from './control.ts';
export { type FrontDoorReport, tryOut } from './front-doors.ts';
export { type ClusterWish, openCluster } from './open.ts';
export { type ClusterReport, type NodeReport, nodeReports } from './report.ts';
export { readCluster, StateDirectory } from './state.ts';
export { stopCluster } from './stop.ts';
export { Supervisor } from './supervisor.ts';
export { wipeState } from './wipe.ts';
