import type { HostRoutes, RouteAction } from '../../ingress/model.ts';
import { hostOfKey } from '../section-keys.ts';

/**
 * A host in the format that `lua/tidegate/decode.lua` reads. The rules are a JSON text of their own without the names of
 * Ingresses: hosts with equal rules then have equal texts, and a worker keeps the decoded rules only once.
 */
export function hostText({ host: key, namespace, routes, fallback, ...whole }: HostRoutes): string {
  const host = hostOfKey(key);
  const actions = [...routes.map(({ action }) => action), ...(fallback === undefined ? [] : [fallback])];
  const policies = new Policies();
  const rules = {
    routes: routes.map((route) => ({ ...route, action: policies.actionOf(route.action) })),
    fallback: fallback && policies.actionOf(fallback),
    policies: policies.texts,
  };
  return JSON.stringify({
    host,
    // Rules for all hosts come from several namespaces. For a host with an owner, only those of its owner count.
    ...(host === '' ? { namespaces: actions.map(({ source }) => source.namespace) } : { namespace }),
    ...whole,
    ingresses: actions.map(({ source }) => `${source.namespace}/${source.name}`),
    rules: JSON.stringify(rules),
  });
}

/** Each policy once. All paths of an Ingress have the same one, with up to thousands of networks; only rewrites differ. */
class Policies {
  readonly texts: string[] = [];
  readonly #known = new Map<string, number>();

  actionOf({ source: _, policy, ...action }: RouteAction): Record<string, unknown> {
    if (policy === undefined) return action;
    const { rewrite, ...rest } = policy;
    return { ...action, policy: this.#indexOf(JSON.stringify(rest)), ...(rewrite && { rewrite }) };
  }

  /** Counts from 1, as Lua does. */
  #indexOf(text: string): number {
    const index = this.#known.get(text) ?? this.texts.push(text);
    this.#known.set(text, index);
    return index;
  }
}
