import type { Ingress } from '@tidegate/kube';
import { readingsOfPath, writtenPath } from '../match/index.ts';
import type { Route } from '../model.ts';
import { groupsOf, isGuarded, type RoutePolicy } from '../policy/index.ts';
import { compilePattern, needsOneOf, type Pattern, PatternError } from '../regex/index.ts';
import type { IngressOptions } from './annotations.ts';

/** A path as an Ingress has it. */
export interface WrittenPath {
  readonly path?: string;
  readonly pathType?: string;
}

/** A longer path than this does not fit into the request lines of most clients and servers. */
export const LONGEST_PATH = 4_096;

/** The path of a route, and the rewrite that applies to it. */
export type ReadPath = Pick<Route, 'path' | 'match' | 'pattern'> & Pick<RoutePolicy, 'rewrite'>;

export const pathsOf = ({ spec }: Ingress): WrittenPath[] =>
  (spec?.rules ?? []).flatMap(({ http }) => http?.paths ?? []);

type Policies = Pick<IngressOptions, 'policies'>;

/** As ingress-nginx decides it: a path that is the target of the rewrite is not rewritten. */
export const isRegex = ({ path = '' }: WrittenPath, { policies: { useRegex, rewrite } }: Policies): boolean =>
  useRegex || (rewrite !== undefined && rewrite.written !== path);

/** Reads a path, or explains what is wrong with it. */
export function readPath(
  written: WrittenPath,
  options: Policies,
): { read: ReadPath; wrong?: undefined } | { read?: undefined; wrong: string } {
  const { path = '', pathType } = written;
  if (path.length > LONGEST_PATH)
    return {
      wrong: `The path that starts with ${shown(path)} has ${path.length} characters, the limit is ${LONGEST_PATH}. It is not served: write a shorter path, for example of type Prefix.`,
    };
  if (isRegex(written, options)) return readRegex(path || '/', options);
  // ImplementationSpecific is treated as Prefix.
  const match = pathType === 'Exact' ? 'Exact' : 'Prefix';
  const plain = writtenPath(path, match);
  if (plain !== undefined) return { read: { path: plain, match } };
  return {
    wrong: `No request can match the path ${shown(path)}: write a percent-encoded path that starts with a slash and has no query and no dot segments.`,
  };
}

function readRegex(path: string, { policies }: Policies): ReturnType<typeof readPath> {
  const rewrite = policies.rewrite?.written === path ? undefined : policies.rewrite?.rewrite;
  try {
    if (!/^[/(^]/.test(path)) throw new PatternError('no slash at its beginning');
    const pattern = regexOf(path, rewrite && groupsOf(rewrite));
    if (policies.guards && [pattern, decodedPattern(path)].some((each) => each && needsOneOf(each, UNCLEAR)))
      throw new PatternError('a semicolon or a backslash that every match needs');
    return { read: { path, match: 'Regex', pattern, ...(rewrite && { rewrite }) } };
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    const why = 'The path is a regular expression, because of the annotation use-regex or rewrite-target.';
    return {
      wrong: `The path ${shown(path)} has ${error.message}. ${why} It is not served: change the path.`,
    };
  }
}

/**
 * Many servers remove what follows `;` in a segment, and read a backslash as a slash. The list of a path with one of them would
 * not apply to the path that such a server reads.
 */
const UNCLEAR = [';'.charCodeAt(0), '\\'.charCodeAt(0)];

/** nginx adds the anchor to the text, so it belongs to the first alternative only. */
const regexOf = (path: string, groups?: ReadonlySet<number>): Pattern => compilePattern(path, groups, '^');

/**
 * A path of an Ingress without regular expressions, on a host with some. ingress-nginx reads it as a regular expression too,
 * and a Prefix becomes two of them. A text that is not a valid expression stands for itself. So does a path with an allow or
 * deny list: `/a+b` as an expression does not match the path that the list is for.
 */
export function asRegex(route: Route): Route[] {
  const { path, match, action } = route;
  const isLimited = isGuarded(action.policy);
  if (match === 'Regex') return isLimited ? [route, ...decodedRegex(route)] : [route];
  const texts = match === 'Prefix' && path !== '/' ? [`${path}/`, path] : [path];
  const patternOf = (text: string): Pattern | undefined =>
    (isLimited ? undefined : validRegexOf(text)) ?? validRegexOf(escaped(text));
  const regexes = texts.map((text) => ({ text, pattern: patternOf(text) }));
  if (isLimited)
    for (const text of texts)
      for (const reading of readingsOfPath(text) ?? [])
        if (reading !== text) regexes.push({ text, pattern: patternOf(reading) });
  // Only a path that is too long for a pattern has none.
  if (regexes.some(({ pattern }) => pattern === undefined)) return [route];
  return regexes.map(({ text, pattern }) => ({ ...route, path: text, match: 'Regex', pattern: pattern! }));
}

/**
 * Paths with a list are also compared after decoding, and then have neither percent-encoding nor empty segments. An expression
 * with one of them would never match.
 */
function decodedRegex(route: Route): Route[] {
  const rewrite = route.action.policy?.rewrite;
  const pattern = decodedPattern(route.path, rewrite && groupsOf(rewrite));
  return pattern === undefined ? [] : [{ ...route, pattern }];
}

/** Undefined if the expression is the same, or is not valid. */
function decodedPattern(path: string, groups?: ReadonlySet<number>): Pattern | undefined {
  const decoded = path.replace(/%([0-9a-f]{2})/gi, '\\x$1').replace(/\/\/+/g, '/');
  return decoded === path ? undefined : validRegexOf(decoded, groups);
}

/** Letters, digits and slashes stand for themselves; of others, the byte is written. */
const escaped = (path: string): string =>
  path.replace(/[^A-Za-z0-9/]/g, (byte) =>
    byte < '\x80' ? `\\${byte}` : `\\x${byte.charCodeAt(0).toString(16)}`,
  );

function validRegexOf(path: string, groups?: ReadonlySet<number>): Pattern | undefined {
  try {
    return regexOf(path, groups);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return undefined;
  }
}

const shown = (path: string): string => JSON.stringify(path.slice(0, 100));
