import { isBeingDeleted, type Pod } from '@tidegate/kube';

/**
 * Whether a pod does nothing any more. Kubelets delete a pod when its containers are removed and its volumes are unmounted, which
 * can take a minute after the last container has ended. Its containers do not start again, because it is being deleted.
 */
export function hasStopped(pod: Pod): boolean {
  const { containerStatuses = [] } = pod.status ?? {};
  return (
    isBeingDeleted(pod) &&
    containerStatuses.length > 0 &&
    containerStatuses.every(({ state }) => state?.terminated !== undefined)
  );
}
