/**
 * nginx as the data plane. Its configuration is written once and never changes: what routes, upstreams and certificates
 * there are is data in memory that all its workers share, read by the Lua in `lua/`.
 *
 * One change: a delta -> `changes.ts` says which keys get which values -> `control.ts` sends them over a unix socket
 * -> `lua/tidegate/control.lua` writes them, and a new generation last -> with their next request, workers see that the
 * generation is another one, and look at the version of what they need.
 *
 * One request: `lua/tidegate/serve.lua` asks `match.lua` for the route -> `balance.lua` picks the endpoint -> nginx
 * carries the bytes -> `ended.lua` counts it.
 */
export { findNginx } from './find-nginx.ts';
export { NginxDriver } from './nginx-driver.ts';
