/**
 * NodePorts: each node listens for every Service that has one. A connection: `Forwarder` accepts -> `Balancer` orders
 * the endpoints of the Service as they are at this moment -> the first that accepts gets it, and bytes flow both ways
 * until both sides have ended. A change of a Service or EndpointSlice concerns the listeners of that Service only;
 * connections that exist stay where they are, so an update of the pods behind it breaks none.
 */
export { NodePorts } from './node-ports.ts';
