/**
 * The agent beside a data plane: objects of the API server become what the driver serves, and stay so.
 *
 * An endpoint goes: its EndpointSlice changes in the informer (`feed.ts`) -> the Compiler marks its pool -> a millisecond
 * later `programmer.ts` asks the Compiler what has changed, gives it a number and sends it to the Driver -> every worker
 * goes by it -> `snapshot.ts` keeps it for a start without an API server.
 * Besides: `placement.ts` follows our L7Router and tells there what is served; `secret-watches.ts` follows the Secrets
 * that routes name, and no others; `external-names.ts` turns DNS names into addresses; `pool-nodes.ts` leaves out
 * endpoints of other pools; `admin-server.ts` tells how we do.
 * `trace/` explains one request by the same tables, with no data plane at all.
 */

export { chooseDriver, type DataPlane } from './choose-driver.ts';
export { type RouterOptions, runRouter } from './router.ts';
export { type Trace, type TraceObjects, trace } from './trace/trace.ts';
export type { TracedEndpoint, TracedUpstream } from './trace/traced-upstream.ts';
