import { RULES, type Rule } from '../model/rules.ts';
import type { HostFinding, RuleFinding } from './host-findings.ts';

/** A rule applied to one host. */
export type HostOfRule = RuleFinding & { readonly host: string };

export interface RuleGroup {
  readonly rule: RuleFinding['rule'];
  readonly hosts: readonly HostOfRule[];
}

/** The findings by rule, so that a reader gets each explanation once. Rules that change something come first. */
export function groupByRule(findings: readonly HostFinding[]): RuleGroup[] {
  const groups = new Map<RuleFinding['rule'], HostOfRule[]>();
  for (const { host, rules } of findings)
    for (const each of rules) groups.set(each.rule, [...(groups.get(each.rule) ?? []), { ...each, host }]);
  const weight = (hosts: readonly HostOfRule[]): number =>
    hosts.filter(({ differences }) => differences > 0).length;
  return [...groups]
    .map(([rule, hosts]) => ({ rule, hosts }))
    .sort((a, b) => rank(a.rule) - rank(b.rule) || weight(b.hosts) - weight(a.hosts));
}

/** Spellings that clients rarely use come last: every host has them. */
const rank = (rule: RuleFinding['rule']): number => Number(rule === 'normalization');

/** Only if the models of both controllers miss a rule. */
const UNEXPLAINED: Rule = {
  title: 'Other differences',
  nginx: 'ingress-nginx answers these requests in another way.',
  tidegate: 'The reason is not known.',
  advice: 'Compare with tidegate trace.',
};

export const textOf = (rule: RuleFinding['rule']): Rule =>
  rule === 'unexplained' ? UNEXPLAINED : RULES[rule];
