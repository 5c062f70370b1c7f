/**
 * The agent of a router (`tidegate router`): it compiles API objects into routes, and keeps a data plane up to date.
 *
 * A change of an object, from informer to acknowledged generation:
 *  1. An informer receives, for example, a changed EndpointSlice. `feed.ts` gives it to the Compiler, without the
 *     endpoints of other pools (`pool-nodes.ts`), and calls `touch` on the programmer.
 *  2. A millisecond later (a few more for routes, which often change in groups), `programmer.ts` flushes the Compiler. It
 *     returns the differences only: the cost depends on the change, not on the number of Ingresses.
 *  3. `external-names.ts` replaces DNS names of ExternalName Services by addresses. `secret-reads.ts` reads the Secrets that
 *     the routes now refer to, and reads them again when the manager publishes new versions of them. Without an L7Router,
 *     `secret-watches.ts` watches each of them.
 *  4. The programmer numbers the delta and calls `Driver.apply`. It resolves when every worker has applied it.
 *  5. `snapshot.ts` stores the delta, so that the router can start while the API server is unreachable.
 *  6. `own-l7-router.ts` writes the generation of the L7Router that is now served to the object's status. The manager
 *     waits for it before it publishes addresses or removes a moved host from its old router. Problems that only the router can
 *     find (`agent-problems.ts`) are in the same status; the manager turns them into events.
 *
 * If step 4 fails, the data plane keeps the previous table, and the programmer retries with back-off, with the full state.
 *
 * Routers of several classes can run in the same pods: `shared-pods.ts` runs a `section.ts` with an agent for each of their
 * L7Routers, on one data plane and with one set of informers (`section-informers.ts`).
 * `left-routers.ts` decides how long the section of a router that has left the pods is served.
 *
 * `router.ts` starts and stops everything, `agent.ts` wires the parts, `choose-driver.ts` chooses the data plane. The admin
 * port with health and metrics is HealthServer of `@tidegate/serving`. `trace/` explains what happens to a request, with
 * the same compiler and matcher but without a data plane.
 */

export { chooseDriver, chooseSectionedDriver, type DataPlane } from './choose-driver.ts';
export type { RouterOptions } from './options.ts';
export { runRouter } from './router.ts';
export { runSharedPods } from './shared-pods.ts';
export { type Trace, type TraceObjects, trace } from './trace/trace.ts';
export type { TracedEndpoint, TracedUpstream } from './trace/traced-upstream.ts';
