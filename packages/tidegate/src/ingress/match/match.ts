import type { HeaderMatch, HostName, HostRoutes, Route, RouteAction } from '../model.ts';
import { hasSameGuards, isGuarded } from '../policy/index.ts';
import { MAX_STEPS, OutOfSteps, type Steps } from '../regex/index.ts';
import { requestHost, wildcardOf, wildcardsAbove } from './host.ts';
import { decodedPath, matchesPath, requestPath } from './path.ts';
import type { PathIndex } from './path-index.ts';
import { foldedPath, readingsOfPath } from './path-readings.ts';
import { lengthOf, type Readings, readingsOf } from './readings.ts';
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
      /** The name of the requested host. */
      readonly name: HostName;
      /** The path that was compared; decoded if the route was found only by this. */
      readonly path: string;
    }
  /** Redirect from `/` to the root of the application. */
  | { readonly kind: 'appRoot'; readonly host: HostRoutes; readonly path: string }
  /** Redirect to the same URL over HTTPS. */
  | { readonly kind: 'redirect'; readonly host: HostRoutes; readonly name: HostName }
  | { readonly kind: 'notFound' }
  /** The regular expressions of the host take too long for this path. It is unknown which route it has. */
  | { readonly kind: 'tooManySteps'; readonly name: HostName }
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
  if (host?.appRoot !== undefined && path === '/') return { kind: 'appRoot', host, path: host.appRoot };
  if (host?.redirectToHttps === true && !request.secure) return { kind: 'redirect', host, name };
  steps.left = MAX_STEPS;
  try {
    const found = matchBoth(table, host, { name, path }, request.headers, note);
    return steps.left < 0 ? { kind: 'tooManySteps', name } : found;
  } catch (error) {
    if (error instanceof OutOfSteps) return { kind: 'tooManySteps', name };
    throw error;
  }
}

/** What is left for the current request. Requests are matched one after the other, so they can share it. */
const steps: Steps = { left: 0 };

function matchBoth(
  table: RouteTable,
  host: HostRoutes | undefined,
  { name, path }: { name: HostName; path: string },
  headers: MatchRequest['headers'],
  note?: (step: Step) => void,
): Match {
  const all = (): HostRoutes | undefined => (name === '' ? undefined : lookUp(table, '', note));
  return (
    matchIn(host, { name, path }, headers, note) ??
    // Rules without a host never answer for a host of another namespace. Otherwise any tenant could answer, for example,
    // the challenge with which certificate authorities check the control of a host.
    matchIn(all(), { name, path }, headers, note, host?.namespace ?? ownerAbove(table, name)) ?? {
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
  { name, path }: { name: HostName; path: string },
  headers: MatchRequest['headers'],
  note?: (step: Step) => void,
  owner?: string,
): Match | undefined {
  if (host === undefined) return undefined;
  const sent = findIn(host, path, headers, note, owner);
  const found = sent && { ...sent, path };
  const safe = host.guarded === true ? guardedIn(host, found, path, headers, owner) : found;
  if (safe === 'unsafe') return { kind: 'badRequest', wrong: 'path' };
  return safe && { kind: 'route', host, ...safe, name };
}

/**
 * A guarded host has routes that not every client may use. A backend may read another path as the path of such a route, so the
 * request is matched again with the path as backends read it. `found` is the route for the path as the client sent it.
 */
function guardedIn(
  host: HostRoutes,
  found: FoundBy | undefined,
  path: string,
  headers: MatchRequest['headers'],
  owner: string | undefined,
): FoundBy | 'unsafe' | undefined {
  const readings = readingsOf(host);
  const find = (index: PathIndex, read: string): FoundRead | undefined =>
    readIn(host, index, read, headers, owner);
  const decoded = decodedPath(path);
  let safe = found;
  if (decoded !== path || !readings.isPlain) {
    const other = find(readings.decoded, decoded);
    if (hasOtherGuards(other, found)) {
      if (!mayReplace(found, other)) return 'unsafe';
      safe = foundBy(other, decoded);
    }
  }
  const others = readingsOfPath(path);
  if (others === undefined) return 'unsafe';
  const isHidden = others.some((each) => {
    if (each === decoded && readings.isUnambiguous) return false;
    const other = find(readings.loose, each);
    // Few servers read the path like this. If only the zone differs, nothing is open.
    return isLimited(other) && !hasSame(other, safe);
  });
  return isHidden ? 'unsafe' : foldedIn(readings, others, safe, path, (read) => find(readings.folded, read));
}

/**
 * Some servers ignore case, or what a name ends with. A guard then also applies to such spellings of its path, unless the user wrote
 * a route for the spelling.
 */
function foldedIn(
  { isFolded }: Readings,
  readings: readonly string[],
  found: FoundBy | undefined,
  path: string,
  find: (read: string) => FoundRead | undefined,
): FoundBy | 'unsafe' | undefined {
  let safe = found;
  const tried = new Set<string>();
  for (const each of readings) {
    const folded = foldedPath(each);
    if (folded === undefined) return 'unsafe';
    // The same path was looked up among the same routes.
    if (tried.has(folded) || (isFolded && folded === each)) continue;
    tried.add(folded);
    const other = find(folded);
    if (!hasOtherGuards(other, safe) || other.read === undefined) continue;
    if (safe?.route !== undefined && lengthOf(safe.route) >= other.read.path.length) continue;
    // The groups of an expression would have to be those of the path that the client sent.
    if (!mayReplace(safe, other) || other.read.match === 'Regex') return 'unsafe';
    safe = foundBy(other, path);
  }
  return safe;
}

const foundBy = ({ route, action }: Found, path: string): FoundBy => ({
  ...(route && { route }),
  action,
  path,
});

const isLimited = (found: Found | undefined): boolean => isGuarded(found?.action.policy);

/** Whether requests of this route are limited, and in another way or another zone than those of the route that was found. */
const hasOtherGuards = <F extends Found>(other: F | undefined, found: Found | undefined): other is F =>
  isLimited(other) && !(hasSame(other, found) && zoneOf(other) === zoneOf(found));

/** The other route limits more than the one that was found; or it limits as much, and its requests count in its own zone. */
const mayReplace = (found: Found | undefined, other: Found): boolean =>
  !isLimited(found) || hasSame(other, found);

const hasSame = (a: Found | undefined, b: Found | undefined): boolean =>
  hasSameGuards(a?.action.policy, b?.action.policy);

const zoneOf = (found: Found | undefined): string | undefined => found?.action.policy?.zone;

/** `read`: the route with the path as backends read it. Absent for a default backend. */
type FoundRead = Found & { readonly read?: Route };

/** `path`: the path that the route was found by. */
type FoundBy = Found & { readonly path: string };

interface Found {
  readonly route?: Route;
  readonly action: RouteAction;
}

function findIn(
  host: HostRoutes,
  path: string,
  headers: MatchRequest['headers'],
  note?: (step: Step) => void,
  owner?: string,
): Found | undefined {
  for (const route of host.routes) {
    const result = isUsable(route.action, owner) ? matchRoute(route, path, headers) : 'otherNamespace';
    note?.({ kind: 'route', host: host.host, route, result });
    if (result === 'matches') return { route, action: route.action };
  }
  const fallback = fallbackOf(host, owner);
  note?.({ kind: 'fallback', host: host.host, action: fallback });
  return fallback && { action: fallback };
}

/** Like findIn, with the routes as backends read them. */
function readIn(
  host: HostRoutes,
  index: PathIndex,
  path: string,
  headers: MatchRequest['headers'],
  owner: string | undefined,
): FoundRead | undefined {
  const found = index.find(
    path,
    (route) => isUsable(route.action, owner) && hasHeaders(headers, route),
    (pattern) => matchesPath(pattern, path, steps),
  );
  if (found !== undefined) return { route: found.route, action: found.route.action, read: found.read };
  const fallback = fallbackOf(host, owner);
  return fallback && { action: fallback };
}

const isUsable = ({ source }: RouteAction, owner: string | undefined): boolean =>
  owner === undefined || source.namespace === owner;

const fallbackOf = ({ fallback }: HostRoutes, owner: string | undefined): RouteAction | undefined =>
  fallback && isUsable(fallback, owner) ? fallback : undefined;

function matchRoute(route: Route, path: string, headers: MatchRequest['headers']): RouteMatchResult {
  if (!matchesPath(route, path, steps)) return 'otherPath';
  return hasHeaders(headers, route) ? 'matches' : 'otherHeaders';
}

const hasHeaders = (headers: MatchRequest['headers'], { headers: wanted }: Route): boolean =>
  wanted.every((each) => hasHeader(headers, each));

/** The values of a repeated header are joined with a comma (RFC 9110, section 5.3). */
function hasHeader(headers: MatchRequest['headers'], { name, value }: HeaderMatch): boolean {
  const received = headers[name];
  return (Array.isArray(received) ? received.join(', ') : received) === value;
}
