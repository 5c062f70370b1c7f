/**
 * Runs the embedded cluster of `tidegate up` as one unit: starts it, restarts what fails, cuts and mends links, and
 * stops it.
 *
 * This folder owns
 *   - the state directory: `state.ts` (paths, cluster.json), `layout.ts` and `change.ts` (which nodes), `wipe.ts`;
 *   - addresses and ports: `range.ts` (which loopback addresses), `ports.ts` and `free-port.ts`, `readdress.ts`,
 *     `move-pods.ts` (ports that another program has taken since the last run);
 *   - the processes: `child.ts` (one process and its restarts), `liveness.ts`, `exit-reason.ts`, `children.ts`,
 *     `commands.ts`, `leftovers.ts`, `stop.ts`, and how users name them: `components.ts`, `log-files.ts`;
 *   - hints that users can copy: `caller.ts`;
 *   - routers, which run in pods: `router-pods.ts`, `router-watch.ts` (crashes), `routers.ts`, `router-identity.ts`;
 *   - the links between the API server and the nodes: `links.ts` and `relay.ts`, chosen by `targets.ts`;
 *   - what nodes need to join: `credentials.ts`, `proxy-token.ts`, `serving-approver.ts`, `install.ts`, repeated by `retry.ts`;
 *   - what `tidegate status` reports: `report.ts` with `node-reports.ts`, `pools.ts`, `routes.ts`, `front-doors.ts`;
 *   - what `tidegate up` waits for: `readiness.ts` with `node-watch.ts`, `open-doors.ts` and `not-ready.ts`.
 *
 * One `tidegate up`:
 *   1. `openCluster` (`open.ts`) locks the state directory, waits for processes of a killed run to exit, and decides
 *      the layout, the addresses and the ports, so that nothing is started that cannot listen.
 *   2. `Supervisor.start` (`supervisor.ts`) opens the links, starts the API server, and removes nodes that are no longer
 *      in the layout (`prune.ts`).
 *   3. It starts the controllers and the manager, issues the nodes' credentials, and starts a hub and then an agent for
 *      each node. A new cluster gets the example objects (`story.ts`).
 *   4. While it runs, `child.ts` restarts every process that exits or no longer responds, and `control.ts` serves the
 *      other commands on a unix socket.
 *   5. `Supervisor.stop` stops everything in the opposite order.
 */
export { callerFor } from './caller.ts';
export { describeChange } from './change.ts';
export { type Component, NAMED_COMPONENTS, SINGLE_COMPONENTS } from './components.ts';
export { type ControlRequest, ControlServer, callSupervisor } from './control.ts';
export { sampleRequest } from './front-doors.ts';
export type { NodeLayout } from './layout.ts';
export { type LogFile, logFiles } from './log-files.ts';
export { type NodeReport, nodeReports } from './node-reports.ts';
export { failureText, type NotReady, notReadyText } from './not-ready.ts';
export { type ClusterOptions, openCluster } from './open.ts';
export { lowPortsNote } from './ports.ts';
export type { ClusterReport } from './report.ts';
export type { FrontDoorReport } from './routers.ts';
export { readCluster, StateDirectory } from './state.ts';
export { stopCluster } from './stop.ts';
export { Supervisor } from './supervisor.ts';
export { wipeState } from './wipe.ts';
