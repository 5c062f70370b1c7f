import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Route } from '../model.ts';
import { compilePattern } from '../regex/index.ts';
import { comparePrecedence, matchesPath } from './path.ts';
import { PathIndex } from './path-index.ts';

let made = 0;
const routeOf = (path: string, match: Route['match'], namespace = 'n', hasHeader = false): Route => ({
  path,
  match,
  ...(match === 'Regex' && { pattern: compilePattern(path, undefined, '^') }),
  headers: hasHeader ? [{ name: 'x', value: '1' }] : [],
  action: {
    backends: [],
    limits: {},
    source: { kind: 'Ingress', namespace, name: `r${made++}`, rule: 0, path: 0 },
  },
});
const indexOf = (routes: readonly Route[]): PathIndex =>
  new PathIndex([...routes].sort(comparePrecedence).map((route) => ({ route, read: route })));

const parts = fc.constantFrom('/', '/a', '/b', '/a-', 'a', '//');
const paths = fc.array(parts, { maxLength: 5 }).map((each) => `/${each.join('').replace(/^\/+/, '')}`);
const routes = fc.array(
  fc
    .tuple(
      paths,
      fc.constantFrom<Route['match']>('Exact', 'Prefix', 'Regex'),
      fc.constantFrom('n', 'm'),
      fc.boolean(),
    )
    .map(([path, match, namespace, hasHeader]) => routeOf(path, match, namespace, hasHeader)),
  { maxLength: 12 },
);

test('finds the same route as a comparison with all of them', () => {
  const requested = fc.oneof(paths, fc.constant('\\a'));
  fc.assert(
    fc.property(
      routes,
      requested,
      fc.option(fc.constantFrom('n', 'm')),
      fc.boolean(),
      (all, path, owner, has) => {
        const accepts = ({ action, headers }: Route): boolean =>
          (owner === null || action.source.namespace === owner) && (has || headers.length === 0);
        const expected = [...all]
          .sort(comparePrecedence)
          .find((route) => accepts(route) && matchesPath(route, path));
        const found = indexOf(all).find(path, accepts, (pattern) => matchesPath(pattern, path));
        expect(found?.route).toBe(expected);
      },
    ),
    { numRuns: 5_000 },
  );
});

/** How many routes a lookup asks for. */
function askedFor(index: PathIndex, path: string, accepts: (route: Route) => boolean = () => true): number {
  let asked = 0;
  const count = (route: Route): boolean => {
    asked++;
    return accepts(route);
  };
  index.find(path, count, () => false);
  return asked;
}

test('asks for few routes, however many there are', () => {
  const many = indexOf(Array.from({ length: 5_000 }, (_, at) => routeOf(`/p${at}/x`, 'Prefix')));
  expect(askedFor(many, '/p77/x/y')).toBe(1);
  expect(askedFor(many, '/q')).toBe(0);
  expect(askedFor(many, '/p7')).toBe(0);
});

test('keeps one of the routes of a namespace that are read as the same path', () => {
  const same = indexOf(Array.from({ length: 5_000 }, () => routeOf('/a', 'Prefix')));
  expect(askedFor(same, '/a/b', () => false)).toBe(1);
});

test('asks for no route between nested paths', () => {
  const nested = indexOf(Array.from({ length: 2_000 }, (_, at) => routeOf('/a'.repeat(at + 1), 'Prefix')));
  expect(askedFor(nested, '/a'.repeat(1_500))).toBe(1);
  expect(askedFor(nested, `${'/a'.repeat(1_500)}b`)).toBe(1);
  expect(askedFor(nested, '/ab')).toBe(0);
});
