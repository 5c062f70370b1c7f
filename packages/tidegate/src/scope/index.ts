/**
 * Which endpoints a client at a node may see: its node's, its pool's, or all. Pure, one engine for the three dialects
 * in which Services ask for it, and for EndpointSlices and Endpoints alike.
 *
 * One slice on its way to a client: `filterEndpointSlice(slice, view)` -> scope.ts reads what the Service asks for
 * -> visible.ts judges each endpoint by its node, the client's node and who is in which pool -> the slice itself when
 * all may be seen, else a copy with those that may, and the reasons for the others.
 */
export * from './filter.ts';
export { scopeMetadata } from './scope.ts';
export * from './visible.ts';
