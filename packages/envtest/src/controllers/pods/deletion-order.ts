import { ownField, type Pod } from '@tidegate/kube';
import { isActive, isReady, readySince } from './state.ts';

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const PHASES: Readonly<Record<string, number | undefined>> = { Pending: 0, Unknown: 1, Running: 2 };

/**
 * Sorts pods by how well they can be spared, as kube-controller-manager does when it scales down: pods that do the
 * least work first, then pods that share their node with many of their kind, then the youngest. `related` are the
 * pods that count as the same kind; `now` is in milliseconds.
 */
export function deletionOrder(pods: readonly Pod[], now: number, related: readonly Pod[] = pods): Pod[] {
  const company = countByNode(related);
  const rules: ((pod: Pod) => number)[] = [
    (pod) => (nodeOf(pod) === undefined ? 0 : 1),
    (pod) => ownField(PHASES, pod.status?.phase ?? '') ?? 0,
    (pod) => (isReady(pod) ? 1 : 0),
    deletionCost,
    (pod) => -(company.get(nodeOf(pod) ?? '') ?? 0),
    (pod) => magnitude(now - (readySince(pod) ?? now)),
    (pod) => -mostRestarts(pod),
    (pod) => magnitude(now - Date.parse(pod.metadata.creationTimestamp ?? '')),
  ];
  return pods.toSorted((a, b) => {
    for (const rule of rules) {
      const difference = rule(a) - rule(b);
      if (difference !== 0) return difference;
    }
    return (a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1;
  });
}

const nodeOf = (pod: Pod): string | undefined => pod.spec?.nodeName || undefined;

function countByNode(pods: readonly Pod[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const pod of pods) {
    const node = nodeOf(pod);
    if (node !== undefined && isActive(pod)) counts.set(node, (counts.get(node) ?? 0) + 1);
  }
  return counts;
}

function deletionCost(pod: Pod): number {
  const cost = pod.metadata.annotations?.[DELETION_COST] ?? '0';
  return /^-?(0|[1-9][0-9]*)$/.test(cost) ? Number(cost) : 0;
}

/**
 * Compares ages by order of magnitude only (KEP-2185). Among pods of about the same age the uid then decides, which
 * is random. Otherwise the youngest pods, which may all be on one new node, would always be deleted together.
 */
const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1);

const mostRestarts = (pod: Pod): number =>
  Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
