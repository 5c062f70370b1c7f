import type { HostRoutes, RouteAction } from '../../ingress/model.ts';

/**
 * A host as `decode.lua` reads it. Where it goes is a text within the text, without the names of the Ingresses: many
 * hosts may say the same, and workers keep that once.
 */
export function hostText({ host, routes, fallback, redirectToHttps }: HostRoutes): string {
  const actions = [...routes.map(({ action }) => action), ...(fallback === undefined ? [] : [fallback])];
  const rules = {
    routes: routes.map((route) => ({ ...route, action: whereTo(route.action) })),
    fallback: fallback && whereTo(fallback),
  };
  return JSON.stringify({
    host,
    redirectToHttps,
    ingresses: actions.map(({ source }) => `${source.namespace}/${source.name}`),
    rules: JSON.stringify(rules),
  });
}

const whereTo = ({ backends, limits }: RouteAction): Omit<RouteAction, 'source'> => ({ backends, limits });
