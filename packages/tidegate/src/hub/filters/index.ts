/**
 * Filters: what components on this node are shown instead of what the API server says. One folder a filter, each with
 * the decision, the transformation and its recorded examples.
 *
 * One EndpointSlice on its way to kube-proxy:
 *   filters.ts picks by component, resource and verb the chain, with what configuration.ts has read from the cluster
 *   -> chain.ts hands the object from filter to filter, in the order of all.ts
 *   -> servicetopology asks context.ts for the Service and the pools, and drops endpoints as src/scope judges
 *   -> the projection sends what is left, and keeps what the outcome hangs on (`dependsOn`)
 *   -> a pool gains a node: context.ts says which nodes that concerns, and only slices that hang on them are filtered again.
 */
export { allFilters } from './all.ts';
export { CONFIGURATION_SELECTION, followConfiguration } from './configuration.ts';
export { HubContext } from './context.ts';
export type * from './filter.ts';
export { Filters } from './filters.ts';
