import type { Node, Pod } from '@tidegate/kube';
import type { Taint } from 'kubernetes-types/core/v1.d.ts';
import { tolerates } from '../scheduler/node-fit.ts';

/** The taints that evict running pods. */
export const evictingTaints = (node: Node | undefined): Taint[] =>
  (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');

/** How long a pod may stay on a node with these taints: 0 means not at all, undefined means forever. */
export function staysForMs(pod: Pod, taints: readonly Taint[]): number | undefined {
  const matching = taints.map((taint) =>
    (pod.spec?.tolerations ?? []).filter((toleration) => tolerates(toleration, taint)),
  );
  if (matching.some((tolerations) => tolerations.length === 0)) return 0;
  const seconds = matching
    .flat()
    .map(({ tolerationSeconds }) => tolerationSeconds)
    .filter((each) => each !== undefined);
  return seconds.length === 0 ? undefined : Math.max(0, Math.min(...seconds)) * 1000;
}
