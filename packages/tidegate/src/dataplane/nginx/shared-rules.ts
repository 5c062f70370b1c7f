/**
 * Rules without a host come from several namespaces, but are one entry in the memory of nginx. Each namespace has a portion of
 * it: what the entry would be with the rules of this namespace alone.
 */
import type { HostRoutes, Route, RouteAction } from '../../ingress/model.ts';
import { hostOfKey } from '../section-keys.ts';

/** Not in the key of a host, and not in the name of a namespace. */
const SEPARATOR = '\n';

export const isShared = ({ host }: HostRoutes): boolean => hostOfKey(host) === '';

export const portionKey = (host: string, namespace: string): string => `${host}${SEPARATOR}${namespace}`;

/** Undefined for the key of a whole entry. */
export function splitPortion(key: string): { host: string; namespace: string } | undefined {
  const at = key.indexOf(SEPARATOR);
  return at < 0 ? undefined : { host: key.slice(0, at), namespace: key.slice(at + 1) };
}

/** By namespace. */
export function portionsOf({ fallback, routes, ...rest }: HostRoutes): Map<string, HostRoutes> {
  const own = new Map<string, Route[]>();
  if (fallback !== undefined) own.set(namespaceOf(fallback), []);
  for (const route of routes) {
    const namespace = namespaceOf(route.action);
    const others = own.get(namespace);
    if (others === undefined) own.set(namespace, [route]);
    else others.push(route);
  }
  return new Map(
    [...own].map(([namespace, portion]) => {
      const isOwn = fallback !== undefined && namespaceOf(fallback) === namespace;
      return [namespace, { ...rest, routes: portion, ...(isOwn && { fallback }) }];
    }),
  );
}

/**
 * The entry without the rules of these namespaces: all of them, because one path may be open only if another protects a part
 * of it. Requests that no other namespace has a rule for get the response 503.
 */
export function withoutNamespaces(host: HostRoutes, namespaces: ReadonlySet<string>): HostRoutes {
  const stays = (action: RouteAction): boolean => !namespaces.has(namespaceOf(action));
  const [namespace = ''] = namespaces;
  const source = { kind: 'Ingress' as const, namespace, name: '', rule: -1, path: -1 };
  const closed: RouteAction = { backends: [], limits: {}, source };
  const { fallback = closed } = host;
  return {
    ...host,
    routes: host.routes.filter(({ action }) => stays(action)),
    fallback: stays(fallback) ? fallback : closed,
  };
}

const namespaceOf = ({ source }: RouteAction): string => source.namespace;
