import type { Pod } from '@tidegate/kube';
import { finishedAt, isSucceeded } from './pods.ts';

const FIRST_DELAY_MS = 10_000;
const MAX_DELAY_MS = 600_000;

/** Milliseconds until a new pod may be created. The delay doubles with every failure since the last success. */
export function creationDelayMs(pods: readonly Pod[], now: number): number {
  const lastSuccess = Math.max(0, ...pods.filter(isSucceeded).map(finishedAt));
  const failures = pods
    .filter((pod) => pod.status?.phase === 'Failed')
    .map(finishedAt)
    .filter((time) => time > lastSuccess);
  if (failures.length === 0) return 0;
  const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures.length - 1));
  return Math.max(0, Math.max(...failures) + delay - now);
}
