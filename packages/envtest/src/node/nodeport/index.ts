/**
 * NodePorts: every node listens on the node port of every Service that has one.
 *
 * One connection: `Forwarder` accepts it -> `Balancer` orders the current endpoints of the Service -> the first
 * endpoint that accepts gets the connection, and data flows both ways until both sides have ended.
 *
 * A change of a Service or EndpointSlice affects only the listeners of that Service. Existing connections stay where
 * they are, so an update of the pods breaks none. The endpoints come from the hub, which filters them for this node:
 * traffic thus stays in the pool without any rule here.
 */
export { NodePorts } from './node-ports.ts';
