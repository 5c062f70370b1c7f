/** Which requests a rule allows, and whether a set of rules covers another. Pure. */
import { type Attributes, isPath } from '../authorization.ts';

/** A rule of a Role or ClusterRole. */
export interface PolicyRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

const hasOrAll = (list: string[] | undefined, wanted: string): boolean =>
  list !== undefined && (list.includes('*') || list.includes(wanted));

/** Whether the rule allows the request. Rules only ever allow; a request is denied if no rule matches. */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false;
  if (isPath(attributes)) return (rule.nonResourceURLs ?? []).some((url) => urlCovers(url, attributes.path));
  const { group, resource, subresource, name } = attributes;
  return (
    hasOrAll(rule.apiGroups, group) &&
    resourcesCover(rule.resources ?? [], subresource === '' ? resource : `${resource}/${subresource}`) &&
    (!rule.resourceNames?.length || rule.resourceNames.includes(name))
  );
}

/** `*` covers everything including subresources; `*\/scale` covers the subresource of every resource. */
function resourcesCover(resources: string[], wanted: string): boolean {
  if (hasOrAll(resources, wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash > 0 && resources.includes(`*${wanted.slice(slash)}`);
}

/** A `*` at the end matches any rest. */
const urlCovers = (url: string, path: string): boolean =>
  url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, '')));

/** A rule of 1 KB can have millions of parts: it has one for each combination of its four lists. */
const MAX_PARTS = 10_000;

/**
 * The smallest parts of `wanted` that no rule of `owned` covers. A rule with very many parts is not split: it must be
 * covered by one rule, otherwise all of it is missing.
 */
export function missingRules(owned: PolicyRule[], wanted: PolicyRule[]): PolicyRule[] {
  let left = MAX_PARTS;
  return wanted.flatMap((rule) => {
    if (owned.some((other) => coversAll(other, rule))) return [];
    left -= partsOf(rule);
    return left < 0 ? [rule] : atoms(rule).filter((atom) => !owned.some((other) => covers(other, atom)));
  });
}

const partsOf = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): number =>
  verbs.length *
  ((apiGroups?.length ?? 0) * (resources?.length ?? 0) * (resourceNames?.length || 1) +
    (nonResourceURLs?.length ?? 0));

/** Whether `rule` alone includes everything that `wanted` allows. */
function coversAll(rule: PolicyRule, wanted: PolicyRule): boolean {
  const names = wanted.resourceNames ?? [];
  const owned = new Set(rule.resourceNames);
  return (
    hasEach(rule.verbs, wanted.verbs) &&
    hasEach(rule.apiGroups, wanted.apiGroups) &&
    (wanted.resources ?? []).every((resource) => resourcesCover(rule.resources ?? [], resource)) &&
    (owned.size === 0 || (names.length > 0 && names.every((name) => owned.has(name)))) &&
    (wanted.nonResourceURLs ?? []).every((url) =>
      (rule.nonResourceURLs ?? []).some((other) => urlCovers(other, url)),
    )
  );
}

function hasEach(list: string[] | undefined, wanted: string[] = []): boolean {
  const owned = new Set(list);
  return owned.has('*') || wanted.every((value) => owned.has(value));
}

/** A rule with one verb and either one resource and at most one name, or one URL. */
type Atom = { verb: string; group: string; resource: string; name?: string } | { verb: string; url: string };

function* atomParts(rule: PolicyRule): Generator<Atom> {
  for (const group of rule.apiGroups ?? []) {
    for (const resource of rule.resources ?? []) {
      for (const verb of rule.verbs) {
        if (!rule.resourceNames?.length) yield { verb, group, resource };
        else for (const name of rule.resourceNames) yield { verb, group, resource, name };
      }
    }
  }
  for (const url of rule.nonResourceURLs ?? []) for (const verb of rule.verbs) yield { verb, url };
}

function atoms(rule: PolicyRule): PolicyRule[] {
  return [...atomParts(rule)].map((atom) =>
    'url' in atom
      ? { verbs: [atom.verb], nonResourceURLs: [atom.url] }
      : {
          verbs: [atom.verb],
          apiGroups: [atom.group],
          resources: [atom.resource],
          ...(atom.name === undefined ? {} : { resourceNames: [atom.name] }),
        },
  );
}

/**
 * Whether `rule` includes everything that `atom` allows. A rule with resource names does not cover an atom without
 * one.
 */
function covers(rule: PolicyRule, atom: PolicyRule): boolean {
  if (!hasOrAll(rule.verbs, atom.verbs[0]!)) return false;
  const url = atom.nonResourceURLs?.[0];
  if (url !== undefined) return (rule.nonResourceURLs ?? []).some((owned) => urlCovers(owned, url));
  if (!hasOrAll(rule.apiGroups, atom.apiGroups![0]!)) return false;
  if (!resourcesCover(rule.resources ?? [], atom.resources![0]!)) return false;
  if (!rule.resourceNames?.length) return true;
  const name = atom.resourceNames?.[0];
  return name !== undefined && rule.resourceNames.includes(name);
}

/** Formats rules as in escalation errors: one line for each resource, with sorted verbs. */
export function describeRules(rules: PolicyRule[]): string {
  const merged = new Map<string, PolicyRule>();
  for (const rule of rules) {
    const { verbs, ...rest } = rule;
    const key = rule.nonResourceURLs ? JSON.stringify(rule) : JSON.stringify(rest);
    const known = merged.get(key);
    if (known === undefined) merged.set(key, { ...rule, verbs: [...verbs] });
    else known.verbs.push(...verbs);
  }
  return [...new Set([...merged.values()].map(describeRule))].sort().join('\n');
}

function describeRule(rule: PolicyRule): string {
  const parts: [string, string[] | undefined][] = [
    ['APIGroups', rule.apiGroups],
    ['Resources', rule.resources],
    ['NonResourceURLs', rule.nonResourceURLs],
    ['ResourceNames', rule.resourceNames],
    ['Verbs', rule.verbs],
  ];
  const filled = parts.filter(([, values]) => values?.length);
  return `{${filled.map(([name, values]) => `${name}:${quoteList(values!)}`).join(', ')}}`;
}

export const quoteList = (values: string[]): string =>
  `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;
