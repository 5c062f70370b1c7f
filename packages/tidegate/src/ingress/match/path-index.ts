import type { Route } from '../model.ts';

/** A route with its path as backends read it. */
export interface ReadRoute {
  readonly route: Route;
  readonly read: Route;
}

interface Ordered {
  readonly each: ReadRoute;
  /** The place in the order of precedence. */
  readonly order: number;
}

/** All routes with the same path. */
interface Entry {
  readonly path: string;
  /** The longest other path that this one begins with. */
  readonly above: Entry | undefined;
  readonly exact: Ordered[];
  readonly prefix: Ordered[];
}

/**
 * Finds routes by path without a comparison with each of them. A guarded host looks up each way in which a server may read a
 * path, and a tenant chooses how many paths a host has.
 *
 * Paths are sorted as texts. Everything that a path begins with is then above the last entry that is not greater than it, and what both
 * have in common decides which of those match. A lookup takes as many steps as the path has bytes and entries above it.
 */
export class PathIndex {
  readonly #entries: readonly Entry[];
  readonly #root: Entry | undefined;
  /** Regular expressions are tried one after the other. The limits of a host and of a request apply to them. */
  readonly #patterns: readonly Ordered[];

  /** `routes` are in the order of precedence. */
  constructor(routes: readonly ReadRoute[]) {
    const ordered = routes.map((each, order) => ({ each, order }));
    this.#patterns = ordered.filter(({ each }) => each.read.match === 'Regex');
    const literal = ordered.filter(({ each }) => each.read.match !== 'Regex');
    this.#entries = entriesOf(literal);
    this.#root = this.#entries.find(({ path }) => path === '/');
  }

  /**
   * The first route in the order of precedence that the path and `accepts` agree to. `runs` is called for regular expressions
   * that precede all other routes.
   */
  find(
    path: string,
    accepts: (route: Route) => boolean,
    runs: (pattern: Route) => boolean,
  ): ReadRoute | undefined {
    const literal = this.#literal(path, accepts);
    for (const pattern of this.#patterns) {
      if (literal !== undefined && pattern.order > literal.order) break;
      if (accepts(pattern.each.route) && runs(pattern.each.read)) return pattern.each;
    }
    return literal?.each;
  }

  #literal(path: string, accepts: (route: Route) => boolean): Ordered | undefined {
    const isAccepted = ({ each }: Ordered): boolean => accepts(each.route);
    let entry = this.#entryBefore(path);
    const common = entry === undefined ? 0 : commonLength(entry.path, path);
    for (; entry !== undefined; entry = entry.above) {
      const { length } = entry.path;
      if (length > common) continue;
      const isWhole = length === path.length;
      if (!isWhole && path.charCodeAt(length) !== SLASH) continue;
      const found = (isWhole ? entry.exact.find(isAccepted) : undefined) ?? entry.prefix.find(isAccepted);
      if (found !== undefined) return found;
    }
    // It matches all paths, also a reading that begins with a backslash.
    return this.#root?.prefix.find(isAccepted);
  }

  /** The last entry that is not greater than the path. */
  #entryBefore(path: string): Entry | undefined {
    let from = 0;
    let to = this.#entries.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#entries[middle]!.path <= path) from = middle + 1;
      else to = middle;
    }
    return this.#entries[from - 1];
  }
}

const SLASH = 0x2f;

function entriesOf(literal: readonly Ordered[]): Entry[] {
  const byPath = new Map<string, Ordered[]>();
  for (const each of literal) {
    const { path } = each.each.read;
    const same = byPath.get(path);
    if (same === undefined) byPath.set(path, [each]);
    else same.push(each);
  }
  const entries: Entry[] = [];
  for (const path of [...byPath.keys()].sort(compareTexts)) {
    const same = byPath.get(path)!;
    let above = entries.at(-1);
    while (above !== undefined && !path.startsWith(above.path)) above = above.above;
    const of = (match: Route['match']): Ordered[] =>
      reachable(same.filter(({ each }) => each.read.match === match));
    entries.push({ path, above, exact: of('Exact'), prefix: of('Prefix') });
  }
  return entries;
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

/** Leaves out routes that follow one of the same namespace that matches in any case: thousands of paths may be read as one. */
function reachable(same: readonly Ordered[]): Ordered[] {
  const closed = new Set<string>();
  return same.filter(({ each: { route } }) => {
    const { namespace } = route.action.source;
    if (closed.has(namespace)) return false;
    if (route.headers.length === 0) closed.add(namespace);
    return true;
  });
}

function commonLength(a: string, b: string): number {
  const most = Math.min(a.length, b.length);
  let length = 0;
  while (length < most && a.charCodeAt(length) === b.charCodeAt(length)) length++;
  return length;
}
