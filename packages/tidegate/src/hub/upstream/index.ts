/**
 * The way to the API servers. This folder owns the connections to them, the knowledge which of them are there, and
 * what happens to requests when one is not.
 *
 * One request that is passed on:
 *   `Upstream.forward` drops what belongs to the client's connection and adds the credential (forward, headers)
 *   -> a FailoverExchange picks a server (choose), and sends it over the connections for that credential (server)
 *   -> the connection can not be made, or breaks under a read: the next server is tried, and the first one suspected
 *   -> its HealthMonitor looks at once (probe); when it is gone, all that waits on it fails, and listeners are told
 *   -> no server is left: UpstreamUnavailable, and the hub answers by what it has.
 * The kit's clients (`Upstream.client`) go the same way, each over a Lane of its own.
 */
export type { LbMode } from './choose.ts';
export { UpstreamUnavailable, unavailable } from './errors.ts';
export type { ForwardedAnswer, UpstreamCredential } from './forward.ts';
export type { RequestHeaders } from './headers.ts';
export { HEALTH_TIMINGS, type HealthTimings } from './health.ts';
export { writeHead } from './upgrade.ts';
export { Upstream } from './upstream.ts';
