import type { HeaderMatch, HostName, HostRoutes, Route, RouteAction } from '../model.ts';
import { requestHost, wildcardOf, wildcardsAbove } from './host.ts';
import { matchesPath, requestPath } from './path.ts';
import type { RouteTable } from './table.ts';

export interface MatchRequest {
  /** The Host header or :authority, unchanged. */
  readonly host: string | undefined;
  /** The request target, unchanged. It can contain a query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The request came over TLS. */
  readonly secure: boolean;
}

/** Result of matching a request. */
export type Match =
  /** If `route` is absent, the action is the default backend of the host. */
  | {
      readonly kind: 'route';
      readonly host: HostRoutes;
      readonly route?: Route;
      readonly action: RouteAction;
    }
  /** Redirect to the same URL over HTTPS. */
  | { readonly kind: 'redirect'; readonly host: HostRoutes; readonly name: HostName }
  | { readonly kind: 'notFound' }
  | { readonly kind: 'badRequest'; readonly wrong: 'host' | 'path' };

/** One step of matching, for `tidegate trace`. */
export type Step =
  | { readonly kind: 'request'; readonly host: HostName; readonly path: string }
  | { readonly kind: 'host'; readonly host: HostName; readonly found: boolean }
  | {
      readonly kind: 'route';
      readonly host: HostName;
      readonly route: Route;
      readonly result: RouteMatchResult;
    }
  | { readonly kind: 'fallback'; readonly host: HostName; readonly action: RouteAction | undefined };

/** `otherNamespace`: the host of the request belongs to another namespace than the rule without a host. */
export type RouteMatchResult = 'matches' | 'otherPath' | 'otherHeaders' | 'otherNamespace';

/** Finds the route for a request. All data planes give the same result. `note` is called for every step. */
export function match(table: RouteTable, request: MatchRequest, note?: (step: Step) => void): Match {
  const name = requestHost(request.host);
  if (name === undefined) return { kind: 'badRequest', wrong: 'host' };
  const path = requestPath(request.path);
  if (path === undefined) return { kind: 'badRequest', wrong: 'path' };
  note?.({ kind: 'request', host: name, path });
  const host = hostFor(table, name, note);
  if (host?.redirectToHttps === true && !request.secure) return { kind: 'redirect', host, name };
  const all = (): HostRoutes | undefined => (name === '' ? undefined : lookUp(table, '', note));
  return (
    matchIn(host, path, request.headers, note) ??
    // Rules without a host never answer for a host of another namespace. Otherwise any tenant could answer, for example,
    // the challenge with which certificate authorities check the control of a host.
    matchIn(all(), path, request.headers, note, host?.namespace ?? ownerAbove(table, name)) ?? {
      kind: 'notFound',
    }
  );
}

/** The namespace of the nearest wildcard above a host without an entry. It owns the host, but does not serve it. */
function ownerAbove({ hosts }: RouteTable, name: HostName): string | undefined {
  for (const wildcard of wildcardsAbove(name)) {
    const above = hosts.get(wildcard);
    if (above !== undefined) return above.namespace;
  }
  return undefined;
}

/** Like `match`, and also returns every step. */
export function explain(table: RouteTable, request: MatchRequest): { match: Match; steps: Step[] } {
  const steps: Step[] = [];
  return { match: match(table, request, (step) => steps.push(step)), steps };
}

function hostFor(table: RouteTable, name: HostName, note?: (step: Step) => void): HostRoutes | undefined {
  const exact = lookUp(table, name, note);
  if (exact !== undefined) return exact;
  const wildcard = wildcardOf(name);
  return wildcard === undefined ? undefined : lookUp(table, wildcard, note);
}

function lookUp({ hosts }: RouteTable, host: HostName, note?: (step: Step) => void): HostRoutes | undefined {
  const found = hosts.get(host);
  note?.({ kind: 'host', host, found: found !== undefined });
  return found;
}

function matchIn(
  host: HostRoutes | undefined,
  path: string,
  headers: MatchRequest['headers'],
  note?: (step: Step) => void,
  owner?: string,
): Match | undefined {
  if (host === undefined) return undefined;
  const isUsable = ({ source }: RouteAction): boolean => owner === undefined || source.namespace === owner;
  for (const route of host.routes) {
    const result = isUsable(route.action) ? matchRoute(route, path, headers) : 'otherNamespace';
    note?.({ kind: 'route', host: host.host, route, result });
    if (result === 'matches') return { kind: 'route', host, route, action: route.action };
  }
  const fallback = host.fallback && isUsable(host.fallback) ? host.fallback : undefined;
  note?.({ kind: 'fallback', host: host.host, action: fallback });
  return fallback && { kind: 'route', host, action: fallback };
}

function matchRoute(route: Route, path: string, headers: MatchRequest['headers']): RouteMatchResult {
  if (!matchesPath(route, path)) return 'otherPath';
  return route.headers.every((wanted) => hasHeader(headers, wanted)) ? 'matches' : 'otherHeaders';
}

/** The values of a repeated header are joined with a comma (RFC 9110, section 5.3). */
function hasHeader(headers: MatchRequest['headers'], { name, value }: HeaderMatch): boolean {
  const received = headers[name];
  return (Array.isArray(received) ? received.join(', ') : received) === value;
}
