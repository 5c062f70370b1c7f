/**
 * Decides which endpoints of a Service a client on a node may see: those of its node, those of its pool, or all of
 * them. The code is pure. One engine serves the three dialects in which a Service can be restricted (EdgeApplication
 * label, KubeEdge annotation, OpenYurt annotation), for EndpointSlices and Endpoints alike.
 *
 * Walk: an EndpointSlice on its way to a client.
 *
 * 1. `filterEndpointSlice(slice, client)` in filter.ts receives the slice and the client (its node, the Service,
 *    the pool membership).
 * 2. scope.ts reads the restrictions from the labels and annotations of the Service. For Services of applications,
 *    service-targets.ts reads the sets of nodes that the application is deployed to.
 * 3. visibility.ts turns them into one check, which compares the endpoint's node and pool with those of the client.
 * 4. filter.ts returns the slice itself if every endpoint is visible, otherwise a copy with the visible endpoints, and
 *    the reason for each endpoint that it withheld.
 */
export * from './filter.ts';
export { scopeMetadata } from './scope.ts';
export { formatServiceTargets, type ServiceTargets } from './service-targets.ts';
export * from './visibility.ts';
