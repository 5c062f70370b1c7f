import type { Conditions, RuleKey } from './state.ts';

/**
 * Order in which rules are tried. It depends on the two keys only, so a rule never has to pass another one.
 *
 * The wildcard of an ALB covers any number of labels, that of an Ingress exactly one. So the rules of `*.b.c` come after
 * those of hosts below `*.a.b.c`, and directly after those of `**.b.c`, which answer for everything further below.
 */
export function compareKeys(a: RuleKey, b: RuleKey): number {
  return (
    hostRank(a.host) - hostRank(b.host) ||
    (a.host.startsWith('*') ? labelsBelow(b.host) - labelsBelow(a.host) : 0) ||
    compareText(suffixOf(a.host), suffixOf(b.host)) ||
    Number(b.host.startsWith('**.')) - Number(a.host.startsWith('**.')) ||
    SECTIONS.indexOf(a.section) - SECTIONS.indexOf(b.section) ||
    b.path.length - a.path.length ||
    compareText(a.match, b.match) ||
    compareText(a.path, b.path)
  );
}

const SECTIONS: readonly RuleKey['section'][] = ['own', 'shared', 'rest'];
const compareText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Exact hosts, then wildcards, then all hosts. */
function hostRank(host: string): number {
  if (host === '') return 2;
  return host.startsWith('*') ? 1 : 0;
}

/** `b.c` for `b.c`, `*.b.c` and `**.b.c`. */
const suffixOf = (host: string): string => host.replace(/^\*{1,2}\./, '');

const labelsBelow = (host: string): number => suffixOf(host).split('.').length;

export const keyText = ({ section, host, match, path }: RuleKey): string =>
  [section, host, match, path].join(' ');

/** A condition with a pattern for any path: a rule needs a condition. */
const ANY_PATH = '/*';

/** Published limits of one rule and of its values. */
const MOST_CHARACTERS = 128;
const HOST_VALUE = /^[a-z0-9.*-]*\.[a-z]+$/;
const PATH_VALUE = /^[A-Za-z0-9_\-.$/~"'@:+&]*$/;

/** Why an ALB has no rule for this key. Undefined if it has. */
export function keyProblem({
  host,
  path,
  match,
}: RuleKey): 'host' | 'hostLength' | 'path' | 'pathLength' | undefined {
  const pattern = hostPattern(host);
  if (host !== '' && !HOST_VALUE.test(pattern)) return 'host';
  if (pattern.length > MOST_CHARACTERS) return 'hostLength';
  // In a pattern, `*` and `?` would match other paths too, and there is no way to escape them.
  if (!PATH_VALUE.test(path)) return 'path';
  return path.length + (match === 'Prefix' ? 2 : 0) > MOST_CHARACTERS ? 'pathLength' : undefined;
}

const hostPattern = (host: string): string => host.replace(/^\*\*\./, '*.*.');

/** The conditions of a rule. A Prefix matches whole path elements, which takes two patterns. */
export function conditionsOf({ section, host, match, path }: RuleKey): Conditions {
  const hosts = host === '' ? [] : [hostPattern(host)];
  const isAnyPath = section === 'rest' || (match === 'Prefix' && path === '/');
  if (isAnyPath) return { hosts, paths: host === '' ? [ANY_PATH] : [] };
  return { hosts, paths: match === 'Exact' ? [path] : [path, `${path}/*`] };
}

/** The key of a rule with this tag and these conditions. Undefined if the rule does not come from Tidegate. */
export function keyOf(section: string | undefined, conditions: Conditions): RuleKey | undefined {
  const known = SECTIONS.find((each) => each === section);
  if (known === undefined) return undefined;
  const host = (conditions.hosts[0] ?? '').replace(/^\*\.\*\./, '**.');
  const [first = ANY_PATH, second] = conditions.paths;
  const isAnyPath = first === ANY_PATH && second === undefined;
  const path = known === 'rest' ? '' : isAnyPath ? '/' : first;
  const match = known === 'rest' || isAnyPath || second !== undefined ? 'Prefix' : 'Exact';
  const key: RuleKey = { section: known, host, path, match };
  return sameConditions(conditionsOf(key), conditions) ? key : undefined;
}

const sameConditions = (a: Conditions, b: Conditions): boolean =>
  a.hosts.join(' ') === b.hosts.join(' ') && a.paths.join(' ') === b.paths.join(' ');
