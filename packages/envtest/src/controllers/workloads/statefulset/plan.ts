import type { ControllerRevision, Pod, StatefulSet } from '@tidegate/kube';
import { isAvailable, isReady, isTerminating } from '../../pods/index.ts';
import { ordinalOf, revisionOf, startOrdinal } from './identity.ts';

/** The input of the plan. */
export interface Observed {
  set: StatefulSet;
  pods: readonly Pod[];
  /** The revision of the last completed rollout, and the revision of the current template. */
  current: ControllerRevision;
  update: ControllerRevision;
  now: number;
}

/** The pods to create and delete now. */
export interface StatefulSetPlan {
  creates: { ordinal: number; revision: ControllerRevision }[];
  deletes: Pod[];
}

/** The maximum number of pods to create in one reconcile. */
const BURST = 500;

const NOTHING: StatefulSetPlan = { creates: [], deletes: [] };

/**
 * What a StatefulSet needs now. With the policy OrderedReady, one change at a time, and only while all pods with
 * lower ordinals are available; with Parallel, all changes at once. Missing pods are created first, then surplus
 * pods are deleted, then the rollout continues, the last two from the highest ordinal down.
 */
export function planStatefulSet(observed: Observed): StatefulSetPlan {
  const { set } = observed;
  const { slots, condemned } = arrange(observed);
  return set.spec?.podManagementPolicy === 'Parallel'
    ? planInParallel(observed, slots, condemned)
    : planInOrder(observed, slots, condemned);
}

interface Slot {
  ordinal: number;
  pod: Pod | undefined;
}

/**
 * One slot for each ordinal in range, and the pods outside the range, the highest ordinal first. A StatefulSet can have two
 * billion replicas, so there are at most `BURST` more slots than pods: while slots are left out, others are free.
 */
function arrange({ set, pods }: Observed): { slots: Slot[]; condemned: Pod[] } {
  const start = startOrdinal(set);
  const replicas = set.spec?.replicas ?? 1;
  const length = Math.min(replicas, pods.length + BURST);
  const slots: Slot[] = Array.from({ length }, (_, i) => ({ ordinal: start + i, pod: undefined }));
  const condemned: { ordinal: number; pod: Pod }[] = [];
  for (const pod of pods) {
    const ordinal = ordinalOf(set, pod);
    if (ordinal === undefined) continue;
    const slot = slots[ordinal - start];
    if (slot !== undefined) slot.pod = pod;
    else if (ordinal < start || ordinal >= start + replicas) condemned.push({ ordinal, pod });
  }
  return { slots, condemned: condemned.toSorted((a, b) => b.ordinal - a.ordinal).map(({ pod }) => pod) };
}

function planInOrder(observed: Observed, slots: Slot[], condemned: Pod[]): StatefulSetPlan {
  for (const { ordinal, pod } of slots) {
    if (pod === undefined) return { ...NOTHING, creates: [podToCreate(observed, ordinal)] };
    if (hasEnded(pod)) return { ...NOTHING, deletes: isTerminating(pod) ? [] : [pod] };
    if (!isHealthy(pod, observed)) return NOTHING;
  }
  const [last, ...others] = condemned;
  if (last === undefined) return planUpdate(observed, slots);
  // An unhealthy pod is deleted only when no other surplus pod is unhealthy. A finished pod will not recover, so it
  // does not delay the others.
  const isSettled = (pod: Pod): boolean => hasEnded(pod) || isHealthy(pod, observed);
  const mayGo = !isTerminating(last) && (isSettled(last) || others.every(isSettled));
  return { ...NOTHING, deletes: mayGo ? [last] : [] };
}

function planInParallel(observed: Observed, slots: Slot[], condemned: Pod[]): StatefulSetPlan {
  const ended = slots.flatMap(({ pod }) => (pod !== undefined && hasEnded(pod) ? [pod] : []));
  const deletes = [...ended, ...condemned].filter((pod) => !isTerminating(pod));
  const creates = slots
    .filter(({ pod }) => pod === undefined)
    .slice(0, BURST)
    .map(({ ordinal }) => podToCreate(observed, ordinal));
  if (creates.length + deletes.length > 0) return { creates, deletes };
  return planUpdate(observed, slots);
}

/** One pod at a time, from the highest ordinal down to the partition. */
function planUpdate(observed: Observed, slots: Slot[]): StatefulSetPlan {
  const { type, rollingUpdate } = observed.set.spec?.updateStrategy ?? {};
  if (type === 'OnDelete') return NOTHING;
  for (const { pod } of slots.slice(rollingUpdate?.partition ?? 0).toReversed()) {
    if (pod === undefined) return NOTHING;
    const isOld = revisionOf(pod) !== observed.update.metadata.name;
    if (isOld && !isTerminating(pod)) return { ...NOTHING, deletes: [pod] };
    if (!isHealthy(pod, observed)) return NOTHING;
  }
  return NOTHING;
}

/**
 * Below the partition, and where the rollout has not arrived yet, a lost pod is created again from its old revision.
 */
function podToCreate(
  { set, current, update }: Observed,
  ordinal: number,
): StatefulSetPlan['creates'][number] {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  const kept =
    rollingUpdate === undefined ? (set.status?.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0);
  const isKept = type !== 'OnDelete' && ordinal - startOrdinal(set) < kept;
  return { ordinal, revision: isKept ? current : update };
}

const isHealthy = (pod: Pod, { set, now }: Observed): boolean =>
  !isTerminating(pod) &&
  pod.status?.phase === 'Running' &&
  isReady(pod) &&
  isAvailable(pod, set.spec?.minReadySeconds ?? 0, now);

/** A finished pod, successful or not, has to be replaced. */
const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Failed' || status?.phase === 'Succeeded';
