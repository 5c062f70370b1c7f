/**
 * The data plane that needs nothing but this program: Node's servers, in the agent's own process.
 *
 * One request: a listener takes it -> an Exchange holds what it asks -> `match` says which action -> the balancer picks
 * an upstream and an endpoint of it -> a connector sends it there, by HTTP/1.1 or, for gRPC, HTTP/2 -> what comes back goes
 * to the client as it comes -> it is counted and logged. A delta only exchanges the table that the next request sees.
 */
export { EmbeddedDriver } from './driver.ts';
