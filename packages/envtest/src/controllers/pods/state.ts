import type { Pod } from '@tidegate/kube';

/** Whether the kubelet reports the pod as ready. */
export const isReady = (pod: Pod): boolean => readyCondition(pod) !== undefined;

/** Neither finished nor terminating. */
export const isActive = (pod: Pod): boolean =>
  pod.status?.phase !== 'Succeeded' && pod.status?.phase !== 'Failed' && !isTerminating(pod);

/** Whether the pod has been deleted and still has to stop. */
export const isTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;

/** Ready for at least `minReadySeconds`. */
export const isAvailable = (pod: Pod, minReadySeconds: number, now: number): boolean =>
  availableInMs(pod, minReadySeconds, now) === 0;

/** Milliseconds until the next ready pod becomes available; undefined when no pod is waiting for that. */
export function nextAvailableInMs(
  pods: readonly Pod[],
  minReadySeconds: number,
  now: number,
): number | undefined {
  const waits = pods
    .map((pod) => availableInMs(pod, minReadySeconds, now))
    .filter((ms) => ms !== undefined && ms > 0);
  return waits.length === 0 ? undefined : Math.min(...(waits as number[]));
}

/** When the pod became ready, in milliseconds; undefined while it is not ready. */
export function readySince(pod: Pod): number | undefined {
  const condition = readyCondition(pod);
  return condition === undefined ? undefined : Date.parse(condition.lastTransitionTime ?? '') || 0;
}

function availableInMs(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  const since = readySince(pod);
  if (since === undefined) return undefined;
  return minReadySeconds === 0 ? 0 : Math.max(0, since + minReadySeconds * 1000 - now);
}

const readyCondition = (pod: Pod) =>
  pod.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True');
