import type { Conditions, RuleAction } from '../plan/index.ts';

export interface Asked {
  readonly host: string | undefined;
  readonly path: string;
  readonly secure: boolean;
}

/** A listener as an ALB evaluates it. */
export interface Evaluated {
  readonly fallback: 404 | 503 | undefined;
  /** In the order of their priorities. */
  readonly rules: readonly { readonly conditions: Conditions; readonly action: RuleAction | undefined }[];
}

/**
 * What an ALB does with a request, by its published documentation: rules in the order of priorities, the first whose
 * conditions are all satisfied; a condition is satisfied by one of its values. `*` matches any characters, also none, and
 * `?` exactly one. Hosts are compared without their case, paths with it and without the query.
 */
export function actionFor({ rules, fallback }: Evaluated, { host, path }: Asked): RuleAction | undefined {
  const name = (host ?? '').replace(/:\d*$/, '').toLowerCase();
  const target = path.split('?')[0] ?? '';
  const isFor = ({ hosts, paths }: Conditions): boolean =>
    (hosts.length === 0 || hosts.some((each) => matchesPattern(each.toLowerCase(), name))) &&
    (paths.length === 0 || paths.some((each) => matchesPattern(each, target)));
  const found = rules.find(({ conditions }) => isFor(conditions));
  if (found !== undefined) return found.action;
  return fallback && { kind: 'respond', status: fallback };
}

/** The documented wildcards, without regular expressions, so that no other character has a meaning. */
export function matchesPattern(pattern: string, text: string): boolean {
  let reached = new Set([0]);
  for (const each of pattern) {
    const next = new Set<number>();
    for (const at of reached) {
      if (each === '*') for (let to = at; to <= text.length; to++) next.add(to);
      else if (at < text.length && (each === '?' || text[at] === each)) next.add(at + 1);
    }
    reached = next;
  }
  return reached.has(text.length);
}

export function actionText(action: RuleAction | undefined): string {
  if (action === undefined) return 'nothing';
  if (action.kind === 'redirect') return 'redirect';
  if (action.kind === 'respond') return `${action.status}`;
  return action.groups.map(({ group, weight }) => `${group}=${weight}`).join(' ');
}
