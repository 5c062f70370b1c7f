/** One step of a rolling update, on nodes that have at most one pod of each revision. */
import type { Pod } from '@tidegate/kube';
import { isAvailable, isTerminating } from '../../pods/index.ts';
import type { UpdateLimits } from './limits.ts';
import type { Place } from './observe.ts';
import { isUpdated } from './pods.ts';

/** The input of one step of a rolling update. */
export interface DaemonRollout {
  places: readonly Place[];
  hash: string;
  now: number;
  minReadySeconds: number;
  limits: UpdateLimits;
}

/** The nodes that get an additional pod, and the pods to delete. */
export interface DaemonRolloutStep {
  creates: string[];
  deletes: Pod[];
}

interface Pair {
  place: Place;
  old: Pod | undefined;
  updated: Pod | undefined;
}

/**
 * Deletes old pods; the next reconcile creates the new ones. At most `maxUnavailable` nodes are without an available
 * pod at a time. An old pod that is unavailable is always deleted, because that makes nothing worse.
 */
export function replaceInPlace(rollout: DaemonRollout): DaemonRolloutStep {
  const { maxUnavailable } = rollout.limits;
  const pairs = pairsOf(rollout).filter(({ place }) => place.wanted || place.pods.length > 0);
  const works = (pod: Pod | undefined): boolean => pod !== undefined && available(pod, rollout);
  const isOld = ({ old, updated }: Pair): boolean => old !== undefined && updated === undefined;
  const broken = pairs.filter(({ old, updated }) => !works(updated ?? old));
  const useless = broken.filter(isOld);
  const candidates = pairs.filter((pair) => isOld(pair) && works(pair.old));
  const chosen = candidates.slice(0, Math.max(0, maxUnavailable - broken.length));
  return { creates: [], deletes: [...useless, ...chosen].map(({ old }) => old!) };
}

/**
 * Creates new pods next to old ones, at most `maxSurge` at a time, and deletes an old pod when its successor is
 * available. A node whose old pod is unavailable gets its new pod immediately.
 */
export function replaceWithSurge(rollout: DaemonRollout): DaemonRolloutStep {
  const { maxSurge, desired } = rollout.limits;
  const pairs = pairsOf(rollout);
  const works = (pod: Pod): boolean => available(pod, rollout);
  const step: DaemonRolloutStep = { creates: [], deletes: [] };
  const candidates: string[] = [];
  const unwanted: Pod[] = [];
  let surging = 0;
  for (const { place, old, updated } of pairs) {
    if (old === undefined) continue;
    if (updated !== undefined) {
      if (works(updated)) step.deletes.push(old);
      else surging++;
    } else if (place.wanted) (works(old) ? candidates : step.creates).push(place.node);
    else if (works(old)) unwanted.push(old);
    else step.deletes.push(old);
  }
  step.creates.push(...candidates.slice(0, Math.max(0, maxSurge - surging)));
  // On nodes that should no longer have a daemon pod, it is deleted only after enough pods are available elsewhere.
  const working = pairs.filter(({ old, updated }) =>
    [old ?? updated].some((pod) => pod && works(pod)),
  ).length;
  step.deletes.push(...unwanted.slice(0, Math.max(0, working - desired)));
  return step;
}

const pairsOf = ({ places, hash }: DaemonRollout): Pair[] =>
  places.map((place) => {
    const pods = place.pods.filter((pod) => !isTerminating(pod));
    return {
      place,
      old: pods.find((pod) => !isUpdated(pod, hash)),
      updated: pods.find((pod) => isUpdated(pod, hash)),
    };
  });

const available = (pod: Pod, { minReadySeconds, now }: DaemonRollout): boolean =>
  isAvailable(pod, minReadySeconds, now);
