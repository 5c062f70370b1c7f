/** One step of a rolling update, on nodes that have at most one pod of each revision. */
import type { Pod } from '@tidegate/kube';
import { isAvailable, isTerminating } from '../../pods/index.ts';
import type { UpdateLimits } from './limits.ts';
import type { Place } from './observe.ts';
import { isUpdated } from './pods.ts';

export interface Rollout {
  places: readonly Place[];
  hash: string;
  now: number;
  minReadySeconds: number;
  limits: UpdateLimits;
}

export interface RolloutStep {
  creates: string[];
  deletes: Pod[];
}

interface Pair {
  place: Place;
  old: Pod | undefined;
  updated: Pod | undefined;
}

/**
 * Deletes old pods; the next look at the node makes new ones. No more than `maxUnavailable` nodes go without at a
 * time. A node whose old pod does not work anyway has nothing to lose.
 */
export function replaceInPlace(rollout: Rollout): RolloutStep {
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
 * Puts new pods beside old ones, no more than `maxSurge` at a time, and deletes an old one when its successor is
 * available. A node whose old pod does not work anyway gets its new one at once.
 */
export function replaceWithSurge(rollout: Rollout): RolloutStep {
  const { maxSurge, desired } = rollout.limits;
  const pairs = pairsOf(rollout);
  const works = (pod: Pod): boolean => available(pod, rollout);
  const step: RolloutStep = { creates: [], deletes: [] };
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
  // Where daemons are wanted no more they go only after those elsewhere have come.
  const working = pairs.filter(({ old, updated }) =>
    [old ?? updated].some((pod) => pod && works(pod)),
  ).length;
  step.deletes.push(...unwanted.slice(0, Math.max(0, working - desired)));
  return step;
}

const pairsOf = ({ places, hash }: Rollout): Pair[] =>
  places.map((place) => {
    const pods = place.pods.filter((pod) => !isTerminating(pod));
    return {
      place,
      old: pods.find((pod) => !isUpdated(pod, hash)),
      updated: pods.find((pod) => isUpdated(pod, hash)),
    };
  });

const available = (pod: Pod, { minReadySeconds, now }: Rollout): boolean =>
  isAvailable(pod, minReadySeconds, now);
