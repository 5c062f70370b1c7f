import type { HostRoutes, Route } from '../model.ts';
import { isGuarded as isGuardedBy } from '../policy/index.ts';
import { comparePrecedence, decodedPath } from './path.ts';
import { PathIndex, type ReadRoute } from './path-index.ts';
import { foldedPath, readingsOfPath } from './path-readings.ts';

/** The routes of a guarded host, in the order of precedence of the paths as backends read them. */
export interface Readings {
  /** Decoding changes no path of a route. */
  readonly isPlain: boolean;
  /** Paths are decoded, and have no empty segments. */
  readonly decoded: PathIndex;
  /** Each route with every path that some server may read its path as. */
  readonly loose: PathIndex;
  /** Each path of a route can be read in one way only. */
  readonly isUnambiguous: boolean;
  /** Like `loose`, as servers compare names that ignore case, or what a name ends with. */
  readonly folded: PathIndex;
  /** `folded` has the same paths as the routes. */
  readonly isFolded: boolean;
}

const known = new WeakMap<HostRoutes, Readings>();

/**
 * Users write a path in any spelling too: `/caf%C3%A9` or `/a//b`. A decoded request must be compared with decoded routes, or
 * it would never match them. A regular expression stays as it is: the compiler adds one for decoded paths.
 */
export function readingsOf(host: HostRoutes): Readings {
  let readings = known.get(host);
  if (readings === undefined) {
    const decoded = readAs(host.routes, (path) => [decodedPath(path)]);
    const loose = readAs(host.routes, looseReadings);
    const folded = readAs(host.routes, (path) => [...new Set(looseReadings(path).map(folding))]);
    readings = {
      isPlain: isPlain(decoded),
      decoded: new PathIndex(decoded),
      loose: new PathIndex(loose),
      isUnambiguous: isPlain(loose),
      folded: new PathIndex(folded),
      isFolded: isPlain(folded),
    };
    known.set(host, readings);
  }
  return readings;
}

const looseReadings = (path: string): readonly string[] => readingsOfPath(path) ?? [decodedPath(path)];

const folding = (path: string): string => foldedPath(path) ?? path;

/** How specific a route is. A route that users wrote in another case, and that is as long, is not hidden by another one. */
export const lengthOf = ({ match, path }: Route): number =>
  match === 'Regex' ? path.length : folding(decodedPath(path)).length;

const isPlain = (routes: readonly ReadRoute[]): boolean =>
  routes.every(({ route, read }) => route.path === read.path);

const readAs = (routes: readonly Route[], readings: (path: string) => readonly string[]): ReadRoute[] =>
  routes
    .flatMap((route) => pathsAs(route, readings).map((path) => ({ route, read: { ...route, path } })))
    .sort((a, b) => comparePrecedence(a.read, b.read) || Number(isGuarded(b)) - Number(isGuarded(a)));

function pathsAs({ path, match }: Route, readings: (path: string) => readonly string[]): readonly string[] {
  if (match === 'Regex') return [path];
  if (match === 'Exact') return readings(path);
  // A Prefix never ends with a slash. There are no two slashes in a row.
  return readings(path).map((read) => (read.length > 1 && read.endsWith('/') ? read.slice(0, -1) : read));
}

/** Of two routes that a backend reads as the same path, the guarded one wins. */
const isGuarded = ({ route }: ReadRoute): boolean => isGuardedBy(route.action.policy);
