/**
 * The connections to the API servers: which of them are healthy, and what happens to requests when one fails.
 *
 * A forwarded request:
 *   1. `Upstream.forward` removes headers that belong to the client's connection and adds the credentials (forward.ts,
 *      headers.ts).
 *   2. A FailoverExchange chooses a server (choose.ts), and sends the request over the connections for that credential
 *      (server.ts).
 *   3. If the connection cannot be established, or fails during a read, the next server is tried, and the HealthMonitor
 *      of the failed one probes it at once (health.ts, probe.ts).
 *   4. If that server is unreachable, all pending requests to it fail, and listeners of `onChange` are notified.
 *   5. If no server is left, the request fails with UpstreamUnavailable, and the hub answers from what it has stored.
 *
 * Kubernetes clients of the hub itself (`Upstream.client`) take the same path, each over a Lane of its own.
 */
export type { LbMode } from './choose.ts';
export { UpstreamUnavailable, unavailable } from './errors.ts';
export type { ForwardedAnswer, UpstreamCredential } from './forward.ts';
export type { RequestHeaders } from './headers.ts';
export { HEALTH_TIMINGS, type HealthTimings } from './health.ts';
export { writeHead } from './upgrade.ts';
export { Upstream } from './upstream.ts';
