/** Compiled affinity terms between pods: which other pods a pod must or should be close to, or away from. */

import {
  LabelMatcher,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  matcherFromSelector,
  ownField,
  type Pod,
} from '@tidegate/kube';
import type { PodAffinityTerm } from 'kubernetes-types/core/v1.d.ts';

/** The labels of a namespace; undefined when it does not exist. */
export type NamespaceLabels = (namespace: string) => Record<string, string> | undefined;

/** A compiled term: which pods it is about, and the label that defines what counts as the same place. */
export interface PodTerm {
  readonly topologyKey: string;
  matches(other: Pod, labelsOf: NamespaceLabels): boolean;
}

/** The required affinity terms. */
export const affinityOf = (pod: Pod): PodTerm[] =>
  (pod.spec?.affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) =>
    compile(term, pod),
  );

/** The required anti-affinity terms. */
export const antiAffinityOf = (pod: Pod): PodTerm[] =>
  (pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map((term) =>
    compile(term, pod),
  );

/** The preferred terms: affinity with a positive weight, anti-affinity with a negative one. */
export function preferencesOf(pod: Pod): { term: PodTerm; weight: number }[] {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  const near = podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const far = podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return [
    ...near.map(({ podAffinityTerm, weight }) => ({ term: compile(podAffinityTerm, pod), weight })),
    ...far.map(({ podAffinityTerm, weight }) => ({ term: compile(podAffinityTerm, pod), weight: -weight })),
  ];
}

function compile(term: PodAffinityTerm, pod: Pod): PodTerm {
  const labels = selectorFor(pod, term.labelSelector, {
    in: term.matchLabelKeys,
    notin: term.mismatchLabelKeys,
  });
  const names = new Set(term.namespaces ?? []);
  if (names.size === 0 && term.namespaceSelector === undefined) names.add(pod.metadata.namespace ?? '');
  const namespaces = matcherFromSelector(term.namespaceSelector);
  return {
    topologyKey: term.topologyKey,
    matches(other, labelsOf) {
      if (!labels.matches(other.metadata.labels)) return false;
      const namespace = other.metadata.namespace ?? '';
      if (names.has(namespace) || namespaces.empty) return true;
      return namespaces.matches(labelsOf(namespace) ?? {});
    },
  };
}

/** The selector, restricted to pods with the same (or different) values of some labels as this pod. */
export function selectorFor(
  pod: Pod,
  selector: LabelSelector | undefined,
  keys: { in?: string[]; notin?: string[] },
): LabelMatcher {
  const matcher = matcherFromSelector(selector);
  if (selector === undefined) return matcher;
  const narrowed = (operator: LabelOperator, names: string[] = []): LabelRequirement[] =>
    names.flatMap((key) => {
      const value = ownField(pod.metadata.labels, key);
      return value === undefined ? [] : [{ key, operator, values: [value] }];
    });
  return new LabelMatcher([
    ...matcher.requirements,
    ...narrowed('in', keys.in),
    ...narrowed('notin', keys.notin),
  ]);
}
