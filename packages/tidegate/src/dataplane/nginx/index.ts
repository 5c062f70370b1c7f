/**
 * nginx as the data plane.
 *
 * nginx never reloads. A reload would start new workers, drop long-lived connections sooner or later and take seconds with
 * many routes. Instead, nginx.conf is written once at the start and contains no route. Routes, upstreams and certificates
 * are data in shared dictionaries (`lua_shared_dict`): memory that all workers read, and that the Lua code in `lua/`
 * consults for each request. Text that tenants write is only ever data, never configuration or code.
 *
 * A change: `changes.ts` turns a delta into keys and values -> `nginx.ts` sends them through `control.ts` over a unix
 * socket -> `lua/tidegate/control.lua` writes each value with a version number and, last, increases the generation -> with
 * its next request, each worker sees another generation than the one it remembers, and reads again what that request
 * needs if its version has changed (`entries.lua`). A worker cannot serve an older generation after that write, so the
 * change is acknowledged as soon as the control request succeeds.
 *
 * A request: `lua/tidegate/serve.lua` validates the head (`head.lua`), host and path (`request.lua`) and finds the route (`match.lua`) -> it
 * chooses an upstream by weight and checks the body limit (`body.lua`) -> nginx asks `balance.lua` for an endpoint, again
 * after each failed attempt (`endpoints.lua`, `failure.lua`) -> nginx proxies the request -> `ended.lua` counts it.
 *
 * The process: `nginx-driver.ts` implements Driver and replaces an nginx that exits. `nginx.ts` is one nginx from start to
 * end, with `master.ts` (the process), `config.ts` (nginx.conf), `lua-settings.ts` (data for Lua) and
 * `runtime-directory.ts` (socket and temporary files).
 */
export { findNginx } from './find-nginx.ts';
export { NginxDriver } from './nginx-driver.ts';
