/** How long a pod may be active on its node: `spec.activeDeadlineSeconds`. Pure functions. */
import type { Pod } from '@tidegate/kube';
import type { PodRecord } from './record.ts';

/** What the kubelet reports when it ends a pod for this reason. */
export const DEADLINE_EXCEEDED = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const;

/** Timers cannot wait longer. */
const MAX_WAIT_MS = 2 ** 31 - 1;

/** For how many milliseconds the pod may still be active, 0 if the time is over; undefined without a limit. */
export function activeMs({ spec }: Pod, { startTime }: PodRecord, now: number): number | undefined {
  const seconds = spec?.activeDeadlineSeconds;
  if (seconds === undefined) return undefined;
  return Math.min(Math.max(0, Date.parse(startTime) + seconds * 1000 - now), MAX_WAIT_MS);
}
