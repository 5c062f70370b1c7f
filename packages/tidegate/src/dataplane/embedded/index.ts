/**
 * The data plane that needs no other program: servers of Node.js in the agent's own process.
 *
 * A request: `listeners.ts` accepts it and creates an Exchange (`exchange.ts`) -> `handler.ts` rejects what is malformed
 * (`refusal.ts`) and finds the route with the matcher of `ingress/match` -> `upstreams.ts` chooses an upstream by weight,
 * and `members.ts` an endpoint that is not in back-off -> `http-connector.ts` or, for gRPC, `grpc-connector.ts` sends the
 * request (`headers.ts`, `body.ts`) -> the response is forwarded as it arrives (`patience.ts`, or `tunnel.ts` after an
 * upgrade) -> `traffic.ts` counts and logs the request. If an endpoint fails before the client has received anything,
 * `failure.ts` decides whether the next endpoint is tried. If there is no endpoint to try, `answer.ts` responds.
 *
 * A change: `driver.ts` replaces the immutable route table, which the next request reads. Requests in progress keep their
 * endpoint, even if it was removed.
 */
export { EmbeddedDriver } from './driver.ts';
export { EmbeddedSections } from './sections.ts';
