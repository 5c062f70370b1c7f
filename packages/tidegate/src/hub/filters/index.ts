/**
 * Filters rewrite API responses per client, so that components work at the edge unmodified. There is one folder per
 * filter, with the decision, the transformation and recorded examples.
 *
 * One EndpointSlice on its way to kube-proxy:
 *   filters.ts selects the chain by component, resource and verb, with the settings that configuration.ts reads from the
 *   cluster -> chain.ts passes the object from filter to filter, in the order of all.ts -> servicetopology gets the
 *   Service and the pools from context.ts and drops endpoints that scope/ rules out -> the projection sends the result
 *   and records what it depends on (`dependsOn`) -> a pool gains a node: context.ts reports the affected nodes, and only
 *   the slices that depend on them are filtered again.
 *
 * The names of the filters, and the ConfigMap that configures them, are those of OpenYurt's YurtHub, so that existing
 * configuration works. docs/reference/filters.md describes each filter for users.
 */
export { allFilters } from './all.ts';
export { followConfiguration } from './configuration.ts';
export { HubContext } from './context.ts';
export { type ContextViews, openContextViews } from './context-views.ts';
export type { Chain, DependencyListener } from './filter.ts';
export { Filters } from './filters.ts';
