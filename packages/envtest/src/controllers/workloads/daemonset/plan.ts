import type { DaemonSet, Pod } from '@tidegate/kube';
import { isAvailable, isReady, isTerminating } from '../../pods/index.ts';
import type { Note } from '../notes.ts';
import { updateLimits } from './limits.ts';
import type { Place, Places } from './observe.ts';
import { isUpdated } from './pods.ts';
import { replaceInPlace, replaceWithSurge } from './rolling.ts';

export interface Observed extends Places {
  daemonSet: DaemonSet;
  /** The hash of the revision that pods should have. */
  hash: string;
  now: number;
  /** Milliseconds until a failed daemon of this node may be replaced. */
  failureWaitMs: (node: string) => number;
}

export interface DaemonSetPlan {
  /** The nodes that get a pod. */
  creates: string[];
  deletes: Pod[];
  /** The nodes whose failed daemons are among the deleted. */
  failed: string[];
  notes: Note[];
  requeueAfter?: number;
}

/** Which pods a DaemonSet needs and which it has too many. A rollout goes on only when every node is in order. */
export function planDaemonSet(observed: Observed): DaemonSetPlan {
  const { daemonSet, places, stranded, hash, now } = observed;
  const limits = updateLimits(daemonSet, places);
  const plan: DaemonSetPlan = { creates: [], deletes: [...stranded], failed: [], notes: [] };
  for (const place of places) planPlace(place, observed, limits.maxSurge > 0, plan);
  if (plan.creates.length + plan.deletes.length > 0) return plan;
  if (daemonSet.spec?.updateStrategy?.type === 'OnDelete') return plan;
  const context = { places, hash, now, limits, minReadySeconds: daemonSet.spec?.minReadySeconds ?? 0 };
  const rollout = limits.maxSurge === 0 ? replaceInPlace(context) : replaceWithSurge(context);
  return { ...plan, ...rollout };
}

function planPlace(place: Place, observed: Observed, surges: boolean, plan: DaemonSetPlan): void {
  if (place.wanted && place.pods.length === 0) plan.creates.push(place.node);
  else if (place.tolerated) tidy(place, observed, surges, plan);
  else plan.deletes.push(...place.pods.filter((pod) => !isTerminating(pod)));
}

/** One daemon a node, or two of different revisions while one takes over from the other. */
function tidy(place: Place, observed: Observed, surges: boolean, plan: DaemonSetPlan): void {
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

/** A daemon is never done: whether it succeeded or failed, there will be another. Whether the pod has ended. */
function replaceEnded(pod: Pod, { node }: Place, { failureWaitMs }: Observed, plan: DaemonSetPlan): boolean {
  const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
  if (pod.status?.phase === 'Succeeded') {
    const message = `Found succeeded daemon pod ${name} on node ${node}, will try to delete it`;
    plan.notes.push({ type: 'normal', reason: 'SucceededDaemonPod', message });
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
  plan.notes.push({ type: 'warning', reason: 'FailedDaemonPod', message });
  plan.deletes.push(pod);
  plan.failed.push(node);
  return true;
}
