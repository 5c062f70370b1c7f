import type { HostRoutes, RouteAction } from '../../ingress/model.ts';

/**
 * A host in the format that `lua/tidegate/decode.lua` reads. The rules are a JSON text of their own without the names of
 * Ingresses: hosts with equal rules then have equal texts, and a worker keeps the decoded rules only once.
 */
export function hostText({ host, namespace, routes, fallback, redirectToHttps }: HostRoutes): string {
  const actions = [...routes.map(({ action }) => action), ...(fallback === undefined ? [] : [fallback])];
  const rules = {
    routes: routes.map((route) => ({ ...route, action: withoutSource(route.action) })),
    fallback: fallback && withoutSource(fallback),
  };
  return JSON.stringify({
    host,
    // Rules for all hosts come from several namespaces. For a host with an owner, only those of its owner count.
    ...(host === '' ? { namespaces: actions.map(({ source }) => source.namespace) } : { namespace }),
    redirectToHttps,
    ingresses: actions.map(({ source }) => `${source.namespace}/${source.name}`),
    rules: JSON.stringify(rules),
  });
}

const withoutSource = ({ backends, limits }: RouteAction): Omit<RouteAction, 'source'> => ({
  backends,
  limits,
});
