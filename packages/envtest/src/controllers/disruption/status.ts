import {
  type Condition,
  type ConditionUpdate,
  ownField,
  type Pod,
  type PodDisruptionBudget,
  setCondition,
} from '@tidegate/kube';
import { resolveIntOrPercent } from '../int-or-percent.ts';
import { isReady } from '../pods/index.ts';

/** An evicted pod that still exists after this time was not deleted after all, and counts again. */
const DELETION_TIMEOUT_MS = 2 * 60_000;

type Status = NonNullable<PodDisruptionBudget['status']>;

/** The result of {@link assess}. */
export interface Assessment {
  status: Status;
  /** Pods whose eviction was granted long ago and that still exist. */
  notDeleted: Pod[];
  /** Milliseconds until the oldest granted eviction times out. */
  recheckInMs: number | undefined;
}

/** Whether the budget refers to the total number of pods, which only their controllers know. */
export const needsScale = ({ spec }: PodDisruptionBudget): boolean =>
  spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === 'string';

/** `expected` is the number of pods that their controllers want. */
export function assess(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  expected: number,
  now: number,
): Assessment {
  const evictions = grantedEvictions(budget, pods, now);
  const desiredHealthy = desiredOf(budget, expected);
  const currentHealthy = pods.filter(
    (pod) => isStaying(pod) && isReady(pod) && !evictions.waiting.has(pod.metadata.name ?? ''),
  ).length;
  const spare = currentHealthy - desiredHealthy;
  const disruptionsAllowed = expected <= 0 ? 0 : Math.max(0, spare);
  const observedGeneration = budget.metadata.generation;
  const condition: ConditionUpdate =
    disruptionsAllowed > 0
      ? { ...ALLOWED, status: 'True', reason: 'SufficientPods', observedGeneration }
      : { ...ALLOWED, status: 'False', reason: 'InsufficientPods', observedGeneration };
  return {
    status: {
      currentHealthy,
      desiredHealthy,
      expectedPods: expected,
      disruptionsAllowed,
      disruptedPods: evictions.waiting.size === 0 ? undefined : Object.fromEntries(evictions.waiting),
      observedGeneration,
      conditions: withCondition(budget, condition, now),
    },
    notDeleted: evictions.notDeleted,
    recheckInMs: evictions.recheckInMs,
  };
}

/** The status when the expected number of pods is unknown: no pod may be evicted. */
export function failedStatus(budget: PodDisruptionBudget, message: string, now: number): Status {
  const { status } = budget;
  const observedGeneration = status?.observedGeneration;
  const failed: ConditionUpdate = {
    type: ALLOWED.type,
    status: 'False',
    reason: 'SyncFailed',
    message,
    observedGeneration,
  };
  return {
    currentHealthy: status?.currentHealthy ?? 0,
    desiredHealthy: status?.desiredHealthy ?? 0,
    expectedPods: status?.expectedPods ?? 0,
    ...status,
    disruptionsAllowed: 0,
    conditions: withCondition(budget, failed, now),
  };
}

const ALLOWED = { type: 'DisruptionAllowed', message: '' };

const isStaying = ({ metadata }: Pod): boolean => metadata.deletionTimestamp === undefined;

/** How many pods must stay healthy. Percentages are rounded up, in favor of availability. */
function desiredOf({ spec }: PodDisruptionBudget, expected: number): number {
  if (spec?.maxUnavailable !== undefined) {
    return Math.max(0, expected - resolveIntOrPercent(spec.maxUnavailable, expected, Math.ceil));
  }
  return resolveIntOrPercent(spec?.minAvailable ?? 0, expected, Math.ceil);
}

const withCondition = (
  { status }: PodDisruptionBudget,
  update: ConditionUpdate,
  now: number,
): Condition[] => [...setCondition((status?.conditions ?? []) as Condition[], update, now)];

/** Evictions that the API server has granted and recorded in the status, without those whose pod is gone. */
function grantedEvictions({ status }: PodDisruptionBudget, pods: readonly Pod[], now: number) {
  const waiting = new Map<string, string>();
  const notDeleted: Pod[] = [];
  let recheckInMs: number | undefined;
  for (const pod of pods.filter(isStaying)) {
    const { name = '' } = pod.metadata;
    const grantedAt = ownField(status?.disruptedPods, name);
    if (grantedAt === undefined) continue;
    const left = Date.parse(grantedAt) + DELETION_TIMEOUT_MS - now;
    if (left <= 0) notDeleted.push(pod);
    else {
      waiting.set(name, grantedAt);
      recheckInMs = Math.min(recheckInMs ?? left, left);
    }
  }
  return { waiting, notDeleted, recheckInMs };
}
