/** Whether a pod may run on a node according to node selectors, node affinity and taints. */

import { meetsNodeRequirement, type Node, type Pod } from '@tidegate/kube';
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  Taint,
  Toleration,
} from 'kubernetes-types/core/v1.d.ts';

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** Checks `spec.nodeSelector` and the required node affinity. */
export function matchesNodeSelector(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(pod.spec?.nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  const required = pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

/** All requirements of the term must match. A term without requirements matches no node. */
export function matchesTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  node: Node,
): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  return (
    matches(matchExpressions, node.metadata.labels ?? {}) &&
    matches(matchFields, { 'metadata.name': node.metadata.name ?? '' })
  );
}

function matches(requirements: NodeSelectorRequirement[], labels: Record<string, string>): boolean {
  // An unknown operator matches no node: an unscheduled pod is better than a pod on the wrong node.
  return requirements.every((requirement) => meetsNodeRequirement(requirement, labels) ?? false);
}

/** Whether the pod tolerates all taints of the node that have one of these effects. */
export const toleratesTaints = (pod: Pod, node: Node, effects: readonly TaintEffect[]): boolean =>
  untoleratedTaint(pod, node, effects) === undefined;

/** The first taint with one of these effects that the pod does not tolerate. */
export function untoleratedTaint(pod: Pod, node: Node, effects: readonly TaintEffect[]): Taint | undefined {
  return (node.spec?.taints ?? []).find(
    (taint) =>
      effects.some((effect) => effect === taint.effect) &&
      !(pod.spec?.tolerations ?? []).some((toleration) => tolerates(toleration, taint)),
  );
}

/** An empty effect matches every effect, and an empty key matches every key. */
export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (operator === 'Exists') return true;
  return (!operator || operator === 'Equal') && (value ?? '') === (taint.value ?? '');
}
