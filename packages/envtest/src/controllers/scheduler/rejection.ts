/** Why a node rejects a pod. The messages are those of kube-scheduler, because users search for them. */

/** Why a node cannot run a pod. */
export interface Rejection {
  readonly reasons: readonly string[];
  /** Whether the node could accept the pod if other pods left it. */
  readonly resolvable: boolean;
}

/** The node can never run the pod as it is, for example because of a node selector. */
export const unresolvable = (reason: string): Rejection => ({ reasons: [reason], resolvable: false });
export const resolvable = (...reasons: string[]): Rejection => ({ reasons, resolvable: true });

/** The message of the PodScheduled condition and of the FailedScheduling event. */
export function explain(rejections: readonly Rejection[]): string {
  if (rejections.length === 0) return 'no nodes available to schedule pods';
  const none = `0/${rejections.length} nodes are available`;
  const why = histogram(rejections.flatMap(({ reasons }) => reasons));
  // There is never a preemption: kube-scheduler gives this answer too when all pods have the same priority.
  const preemption = histogram(
    rejections.map((rejection) =>
      rejection.resolvable
        ? 'No preemption victims found for incoming pod'
        : 'Preemption is not helpful for scheduling',
    ),
  );
  return `${none}: ${why}. no new claims to deallocate, preemption: ${none}: ${preemption}.`;
}

/** The same, if a pod cannot run on any node for a reason that is not that of a node. */
export function explainAll(nodes: number, reason: string): string {
  const none = `0/${nodes} nodes are available`;
  return `${none}: ${reason}. no new claims to deallocate, preemption: ${none}: ${nodes} Preemption is not helpful for scheduling.`;
}

function histogram(reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(', ');
}
