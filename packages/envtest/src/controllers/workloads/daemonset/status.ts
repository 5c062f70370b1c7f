import type { DaemonSet, Pod } from '@tidegate/kube';
import type { DaemonSetStatus } from 'kubernetes-types/apps/v1.d.ts';
import { isAvailable, isReady } from '../../pods/index.ts';
import type { Place } from './observe.ts';
import { isUpdated } from './pods.ts';

/** The counts in the status. `observedGeneration` is set by the caller. */
export function daemonSetStatus(
  { spec, status }: DaemonSet,
  places: readonly Place[],
  hash: string,
  now: number,
): DaemonSetStatus {
  const wanted = places.filter((place) => place.wanted);
  // The oldest pod represents its node.
  const first = wanted.flatMap(({ pods }) => pods.slice(0, 1));
  const count = (holds: (pod: Pod) => boolean): number => first.filter(holds).length;
  const numberAvailable = count((pod) => isAvailable(pod, spec?.minReadySeconds ?? 0, now));
  return {
    ...status,
    desiredNumberScheduled: wanted.length,
    currentNumberScheduled: first.length,
    numberMisscheduled: places.filter((place) => !place.wanted && place.pods.length > 0).length,
    numberReady: count(isReady),
    updatedNumberScheduled: count((pod) => isUpdated(pod, hash)) || undefined,
    numberAvailable: numberAvailable || undefined,
    numberUnavailable: wanted.length - numberAvailable || undefined,
  };
}
