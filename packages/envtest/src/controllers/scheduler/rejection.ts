/** Why a node can not take a pod, and how that is told. The words are kube-scheduler's: people search for them. */

export interface Rejection {
  readonly reasons: readonly string[];
  /** Whether it would be otherwise if some pods left the node. */
  readonly passing: boolean;
}

export const lasting = (reason: string): Rejection => ({ reasons: [reason], passing: false });
export const passing = (...reasons: string[]): Rejection => ({ reasons, passing: true });

/** The message of the PodScheduled condition and of the event FailedScheduling. */
export function explain(rejections: readonly Rejection[]): string {
  if (rejections.length === 0) return 'no nodes available to schedule pods';
  const none = `0/${rejections.length} nodes are available`;
  const why = histogram(rejections.flatMap(({ reasons }) => reasons));
  // Nobody is sent away to make room here, which is what kube-scheduler too finds among pods of equal priority.
  const preemption = histogram(
    rejections.map((rejection) =>
      rejection.passing
        ? 'No preemption victims found for incoming pod'
        : 'Preemption is not helpful for scheduling',
    ),
  );
  return `${none}: ${why}. no new claims to deallocate, preemption: ${none}: ${preemption}.`;
}

function histogram(reasons: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(', ');
}
