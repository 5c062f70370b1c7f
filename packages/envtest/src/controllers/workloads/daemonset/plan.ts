import type { DaemonSet, Pod } from '@tidegate/kube';
import { isAvailable, isReady, isTerminating } from '../../pods/index.ts';
import type { PlannedEvent } from '../planned-events.ts';
import { updateLimits } from './limits.ts';
import type { Place, Places } from './observe.ts';
import { isUpdated } from './pods.ts';
import { replaceInPlace, replaceWithSurge } from './rolling.ts';

/** The input of the plan. */
export interface Observed extends Places {
  daemonSet: DaemonSet;
  /** The hash of the current revision. */
  hash: string;
  now: number;
  /** Milliseconds until a failed pod on this node may be replaced. */
  failureWaitMs: (node: string) => number;
}

/** The pods to create and delete. */
export interface DaemonSetPlan {
  /** The nodes that need a pod. */
  creates: string[];
  deletes: Pod[];
  /** The nodes of failed pods in `deletes`. */
  failed: string[];
  events: PlannedEvent[];
  requeueAfter?: number;
}

/** Which pods to create and which to delete. A rollout continues only when nothing else has to be done on any node. */
export function planDaemonSet(observed: Observed): DaemonSetPlan {
  const { daemonSet, places, stranded, hash, now } = observed;
  const limits = updateLimits(daemonSet, places);
  const plan: DaemonSetPlan = { creates: [], deletes: [...stranded], failed: [], events: [] };
  for (const place of places) planPlace(place, observed, limits.maxSurge > 0, plan);
  if (plan.creates.length + plan.deletes.length > 0) return plan;
  if (daemonSet.spec?.updateStrategy?.type === 'OnDelete') return plan;
  const context = { places, hash, now, limits, minReadySeconds: daemonSet.spec?.minReadySeconds ?? 0 };
  const rollout = limits.maxSurge === 0 ? replaceInPlace(context) : replaceWithSurge(context);
  return { ...plan, ...rollout };
}

function planPlace(place: Place, observed: Observed, surges: boolean, plan: DaemonSetPlan): void {
  if (place.wanted && place.pods.length === 0) plan.creates.push(place.node);
  else if (place.tolerated) removeDuplicates(place, observed, surges, plan);
  else plan.deletes.push(...place.pods.filter((pod) => !isTerminating(pod)));
}

/** Keeps one pod per node, or two of different revisions while one takes over from the other. */
function removeDuplicates(place: Place, observed: Observed, surges: boolean, plan: DaemonSetPlan): void {
  const { hash, now, daemonSet } = observed;
  const running = place.pods.filter(
    (pod) => !isTerminating(pod) && !replaceEnded(pod, place, observed, plan),
  );
  if (!surges) {
    plan.deletes.push(...running.slice(1));
    return;
  }
  if (running.length === 0 && place.wanted) plan.creates.push(place.node);
  const [newest, ...moreNew] = running.filter((pod) => isUpdated(pod, hash));
  const [old, ...moreOld] = running.filter((pod) => !isUpdated(pod, hash));
  plan.deletes.push(...moreNew, ...moreOld);
  if (newest === undefined || old === undefined) return;
  const tookOver = isAvailable(newest, daemonSet.spec?.minReadySeconds ?? 0, now);
  if (tookOver || !isReady(old)) plan.deletes.push(old);
}

/** Deletes a finished pod, because a daemon always has to run. Returns whether the pod is finished. */
function replaceEnded(pod: Pod, { node }: Place, { failureWaitMs }: Observed, plan: DaemonSetPlan): boolean {
  const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
  if (pod.status?.phase === 'Succeeded') {
    const message = `Found succeeded daemon pod ${name} on node ${node}, will try to delete it`;
    plan.events.push({ type: 'normal', reason: 'SucceededDaemonPod', message });
    plan.deletes.push(pod);
    return true;
  }
  if (pod.status?.phase !== 'Failed') return false;
  const waitMs = failureWaitMs(node);
  if (waitMs > 0) {
    plan.requeueAfter = Math.min(waitMs, plan.requeueAfter ?? Number.POSITIVE_INFINITY);
    return true;
  }
  const message = `Found failed daemon pod ${name} on node ${node}, will try to kill it`;
  plan.events.push({ type: 'warning', reason: 'FailedDaemonPod', message });
  plan.deletes.push(pod);
  plan.failed.push(node);
  return true;
}
