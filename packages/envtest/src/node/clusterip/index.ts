/**
 * ClusterIPs: loopback addresses on which every Service answers.
 *
 * All nodes of a machine share its loopback interface, so only one of them can listen on an address: the agent that is
 * first, and another one when it ends. The agent that accepts a connection must not use its own endpoints for it, because
 * a Service can have a scope, and then each node sees other endpoints.
 *
 * One connection: `ClusterIPs` accepts it -> `client-node.ts` finds the container that opened it, and so its node ->
 * `handover.ts` passes the connection to the agent of that node -> its `ClusterIPs` chooses an endpoint that its hub shows
 * to the node. A client that is not in a container, for example curl in a terminal, gets the endpoints of the agent that
 * listens.
 */
export { ClusterIPs } from './cluster-ips.ts';
