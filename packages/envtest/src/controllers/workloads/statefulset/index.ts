/**
 * StatefulSet: pods with stable names, `<set>-0`, `<set>-1` and so on.
 *
 * One reconcile, after a pod or a StatefulSet has changed: sync the revisions of the template -> claim the pods ->
 * `planStatefulSet` chooses the next changes that the pod order allows -> `PodWriter` makes them -> count the pods
 * in the status (`status.ts`). `identity.ts` defines the names and labels of the pods.
 */
import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  type Informer,
  matcherFromSelector,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  type ReconcileResult,
  STATEFUL_SETS,
  type StatefulSet,
} from '@tidegate/kube';
import type { ControllerContext, MakeController } from '../../context.ts';
import {
  claimable,
  claimPods,
  indexByController,
  indexByNamespace,
  inNamespace,
  isControlledBy,
  keysOfOwners,
  nextAvailableInMs,
} from '../../pods/index.ts';
import { writeStatus } from '../../write-status.ts';
import { type History, RevisionHistory } from '../revisions/history.ts';
import { workloadController } from '../workload-controller.ts';
import { createClaims, deleteScaledDown } from './claims.ts';
import { newPod, ordinalOf, revisionOf } from './identity.ts';
import { planStatefulSet, type StatefulSetPlan } from './plan.ts';
import { PodWriter } from './pod-writer.ts';
import { statefulSetStatus } from './status.ts';

const HASH_LABEL = 'controller.kubernetes.io/hash';

/** Keys are StatefulSets. */
export const statefulSetController: MakeController = (context) => {
  const sets = context.informers.for(STATEFUL_SETS);
  const pods = context.informers.for(PODS);
  indexByController(pods);
  const reconciler = new StatefulSetReconciler(context, sets, pods);
  return workloadController(context, {
    name: 'statefulset',
    concurrency: 5,
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
  })
    .watch(sets)
    .watch(
      pods,
      keysOfOwners(sets, 'StatefulSet', ({ spec }) => spec?.selector),
    );
};

class StatefulSetReconciler {
  readonly #context: ControllerContext;
  readonly #sets: Informer<StatefulSet>;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly #writer: PodWriter;
  readonly #history: RevisionHistory;

  constructor(context: ControllerContext, sets: Informer<StatefulSet>, pods: Informer<Pod>) {
    const { client, clock } = context;
    this.#context = context;
    this.#sets = sets;
    this.#pods = pods;
    this.#claims = context.informers.for(PERSISTENT_VOLUME_CLAIMS);
    indexByNamespace(this.#claims);
    const recorder = context.recorderFor('statefulset-controller');
    this.#writer = new PodWriter({ client, pods, recorder, clock });
    this.#history = new RevisionHistory({
      client,
      revisions: context.informers.for(CONTROLLER_REVISIONS),
      ownerResource: STATEFUL_SETS,
      hashLabel: HASH_LABEL,
    });
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const set = this.#sets.cache.get(key);
    // Its revisions are deleted with it and must not be created again.
    if (set === undefined || set.metadata.deletionTimestamp !== undefined) return undefined;
    const now = this.#context.clock.now();
    const history = await this.#history.sync(set, signal);
    const { update } = history;
    const current =
      history.revisions.find(({ metadata }) => metadata.name === set.status?.currentRevision) ?? update;
    const waitMs = this.#writer.expectations.waitMs(set);
    const pods = await this.#claim(set, signal);
    const observed = { set, pods, current, update, now };
    const failure = waitMs > 0 ? undefined : await this.#carryOut(set, planStatefulSet(observed), signal);
    const status = {
      ...statefulSetStatus(observed),
      ...(waitMs > 0 ? {} : { observedGeneration: set.metadata.generation }),
      collisionCount: history.collisionCount ?? 0,
    };
    await writeStatus(this.#context.client, STATEFUL_SETS, set, status, signal);
    if (failure !== undefined) throw failure;
    const { client } = this.#context;
    if (waitMs === 0)
      await deleteScaledDown(
        client,
        set,
        inNamespace(this.#claims.cache, set.metadata.namespace ?? ''),
        pods,
        signal,
      );
    await this.#trim(set, history, [current, update], pods, signal);
    const availableInMs = nextAvailableInMs(pods, set.spec?.minReadySeconds ?? 0, now);
    const times = [waitMs, availableInMs ?? 0].filter((ms) => ms > 0);
    return times.length === 0 ? undefined : { requeueAfter: Math.min(...times) };
  }

  /** Only a pod whose name is that of the set plus an ordinal can belong to it. */
  async #claim(set: StatefulSet, signal: AbortSignal): Promise<Pod[]> {
    const isMember = (pod: Pod): boolean => ordinalOf(set, pod) !== undefined;
    const claimed = await claimPods({
      client: this.#context.client,
      owner: set,
      ownerResource: STATEFUL_SETS,
      selector: matcherFromSelector(set.spec?.selector),
      candidates: claimable(this.#pods.cache, set).filter((pod) => isMember(pod) || isControlledBy(pod, set)),
      signal,
    });
    return claimed.filter(isMember);
  }

  /** Returns the error instead of throwing it, because the status has to be written in any case. */
  async #carryOut(set: StatefulSet, plan: StatefulSetPlan, signal: AbortSignal): Promise<unknown> {
    try {
      for (const pod of plan.deletes) await this.#writer.delete(set, pod, signal);
      for (const { ordinal, revision } of plan.creates) {
        await createClaims(this.#context.client, set, ordinal, signal);
        await this.#writer.create(set, newPod(set, ordinal, revision), signal);
      }
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #trim(
    set: StatefulSet,
    history: History,
    inUse: ControllerRevision[],
    pods: Pod[],
    signal: AbortSignal,
  ): Promise<void> {
    const names = new Set([...inUse.map(({ metadata }) => metadata.name), ...pods.map(revisionOf)]);
    return this.#history.trim(set, history, ({ metadata }) => names.has(metadata.name), signal);
  }
}
