/**
 * ReplicaSet: keeps `spec.replicas` pods of one template.
 *
 * One reconcile, after a pod or a ReplicaSet has changed: claim the pods -> create or delete the difference, unless
 * the cache does not show this controller's last writes yet -> count the pods in the status (`status.ts`).
 */
import {
  type Informer,
  matcherFromSelector,
  PODS,
  type Pod,
  REPLICA_SETS,
  type ReconcileResult,
  type ReplicaSet,
} from '@tidegate/kube';
import type { ControllerContext, MakeController } from '../../context.ts';
import {
  claimable,
  claimPods,
  controlledBy,
  deletionOrder,
  indexByController,
  isActive,
  isTerminating,
  keysOfOwners,
  nextAvailableInMs,
  PodControl,
  podFromTemplate,
  siblingsOf,
} from '../../pods/index.ts';
import { workloadController } from '../workload-controller.ts';
import { writeStatus } from '../write-status.ts';
import { replicaSetStatus } from './status.ts';

/** The maximum number of pods to create or delete in one reconcile. */
const BURST = 500;

/** Keys are ReplicaSets. */
export const replicaSetController: MakeController = (context) => {
  const replicaSets = context.informers.for(REPLICA_SETS);
  const pods = context.informers.for(PODS);
  indexByController(pods);
  indexByController(replicaSets);
  const reconciler = new ReplicaSetReconciler(context, replicaSets, pods);
  return workloadController(context, {
    name: 'replicaset',
    concurrency: 5,
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
  })
    .watch(replicaSets)
    .watch(
      pods,
      keysOfOwners(replicaSets, 'ReplicaSet', ({ spec }) => spec?.selector),
    );
};

class ReplicaSetReconciler {
  readonly #context: ControllerContext;
  readonly #replicaSets: Informer<ReplicaSet>;
  readonly #pods: Informer<Pod>;
  readonly #podControl: PodControl;

  constructor(context: ControllerContext, replicaSets: Informer<ReplicaSet>, pods: Informer<Pod>) {
    this.#context = context;
    this.#replicaSets = replicaSets;
    this.#pods = pods;
    const recorder = context.recorderFor('replicaset-controller');
    this.#podControl = new PodControl({ client: context.client, pods, recorder, clock: context.clock });
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const replicaSet = this.#replicaSets.cache.get(key);
    if (replicaSet === undefined) return undefined;
    const { client, clock } = this.#context;
    const claimed = await claimPods({
      client,
      owner: replicaSet,
      ownerResource: REPLICA_SETS,
      selector: matcherFromSelector(replicaSet.spec?.selector),
      candidates: claimable(this.#pods.cache, replicaSet),
      signal,
    });
    const { expectations } = this.#podControl;
    const waitMs = expectations.waitMs(replicaSet);
    const mayChange = waitMs === 0 && replicaSet.metadata.deletionTimestamp === undefined;
    const failure = mayChange ? await this.#manage(replicaSet, claimed.filter(isActive), signal) : undefined;
    // A pod that this controller has deleted no longer counts, even if the cache still shows it. Otherwise a rollout
    // would rely on pods that are terminating.
    const isLeaving = (pod: Pod): boolean => isTerminating(pod) || expectations.isDeleting(pod);
    const active = claimed.filter((pod) => isActive(pod) && !isLeaving(pod));
    const now = clock.now();
    const observed = { active, terminating: claimed.filter(isLeaving) };
    const status = replicaSetStatus(replicaSet, observed, failure, now);
    await writeStatus(client, REPLICA_SETS, replicaSet, status, signal);
    if (failure !== undefined) throw failure;
    return soonest(waitMs, nextAvailableInMs(active, replicaSet.spec?.minReadySeconds ?? 0, now));
  }

  /** Returns the error instead of throwing it, because the status has to report it before the retry. */
  async #manage(replicaSet: ReplicaSet, active: Pod[], signal: AbortSignal): Promise<unknown> {
    const { replicas = 1, template = {} } = replicaSet.spec ?? {};
    const missing = Math.min(replicas - active.length, BURST);
    try {
      if (missing > 0) {
        const newPod = (): Pod => podFromTemplate(replicaSet, template);
        await this.#podControl.createPods(replicaSet, missing, newPod, signal);
      } else if (missing < 0) {
        const order = deletionOrder(active, this.#context.clock.now(), this.#related(replicaSet));
        await this.#podControl.deletePods(replicaSet, order.slice(0, Math.min(-missing, BURST)), signal);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** The pods of all ReplicaSets of the same Deployment. Nodes with many of them lose a pod first. */
  #related(replicaSet: ReplicaSet): Pod[] {
    return siblingsOf(this.#replicaSets.cache, replicaSet).flatMap((sibling) =>
      controlledBy(this.#pods.cache, sibling),
    );
  }
}

function soonest(waitMs: number, availableInMs: number | undefined): ReconcileResult | undefined {
  const times = [waitMs, availableInMs ?? 0].filter((ms) => ms > 0);
  return times.length === 0 ? undefined : { requeueAfter: Math.min(...times) };
}
