import type { Pod } from '@tidegate/kube';
import { isActive, isReady, readySince } from './state.ts';

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const PHASES: Readonly<Record<string, number | undefined>> = { Pending: 0, Unknown: 1, Running: 2 };

/**
 * The pods in the order in which they should go when there are too many: first who does the least work, then who has
 * company of its kind on the node, then the youngest. `related` are the pods that count as company; `now` in
 * milliseconds.
 */
export function deletionOrder(pods: readonly Pod[], now: number, related: readonly Pod[] = pods): Pod[] {
  const company = countByNode(related);
  const rules: ((pod: Pod) => number)[] = [
    (pod) => (nodeOf(pod) === undefined ? 0 : 1),
    (pod) => PHASES[pod.status?.phase ?? ''] ?? 0,
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

/** Ages count by magnitude only, so that among pods of about the same age chance decides, and not one bad node. */
const magnitude = (ageMs: number): number => (ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1);

const mostRestarts = (pod: Pod): number =>
  Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
