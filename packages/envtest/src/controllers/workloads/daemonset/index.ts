/**
 * DaemonSet: one pod on every node that fits.
 *
 * One reconcile, after a pod, a Node or a DaemonSet has changed: sync the revisions of the template -> claim the
 * pods and group them by node (`observe.ts`) -> `planDaemonSet` creates missing pods and deletes surplus ones, and
 * only otherwise continues the rollout (`rolling.ts`) -> count the nodes in the status (`status.ts`).
 */
import {
  CONTROLLER_REVISIONS,
  DAEMON_SETS,
  type DaemonSet,
  type EventRecorder,
  type Informer,
  matcherFromSelector,
  NODES,
  type Node,
  PODS,
  type Pod,
  type ReconcileResult,
} from '@tidegate/kube';
import type { ControllerContext, MakeController } from '../../context.ts';
import {
  claimable,
  claimPods,
  indexByController,
  keysOfOwners,
  nextAvailableInMs,
  PodControl,
} from '../../pods/index.ts';
import { writeStatus } from '../../write-status.ts';
import { recordEvents } from '../planned-events.ts';
import { type History, RevisionHistory } from '../revisions/history.ts';
import { workloadController } from '../workload-controller.ts';
import { FailureBackoff } from './failure-backoff.ts';
import { concernsDaemons } from './nodes.ts';
import { observePlaces } from './observe.ts';
import { type DaemonSetPlan, planDaemonSet } from './plan.ts';
import { newPod, REVISION_HASH } from './pods.ts';
import { daemonSetStatus } from './status.ts';

/** The maximum number of pods to create or delete in one reconcile. */
const BURST = 250;

/** Keys are DaemonSets. */
export const daemonSetController: MakeController = (context) => {
  const daemonSets = context.informers.for(DAEMON_SETS);
  const pods = context.informers.for(PODS);
  const nodes = context.informers.for(NODES);
  indexByController(pods);
  const reconciler = new DaemonSetReconciler(context, daemonSets, pods, nodes);
  return workloadController(context, {
    name: 'daemonset',
    concurrency: 2,
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
  })
    .watch(daemonSets)
    .watch(
      pods,
      keysOfOwners(daemonSets, 'DaemonSet', ({ spec }) => spec?.selector),
    )
    .watch(nodes, () => daemonSets.cache.keys(), concernsDaemons);
};

class DaemonSetReconciler {
  readonly #context: ControllerContext;
  readonly #daemonSets: Informer<DaemonSet>;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #recorder: EventRecorder;
  readonly #podControl: PodControl;
  readonly #history: RevisionHistory;
  readonly #backoff = new FailureBackoff();

  constructor(
    context: ControllerContext,
    daemonSets: Informer<DaemonSet>,
    pods: Informer<Pod>,
    nodes: Informer<Node>,
  ) {
    const { client, clock } = context;
    this.#context = context;
    this.#daemonSets = daemonSets;
    this.#pods = pods;
    this.#nodes = nodes;
    this.#recorder = context.recorderFor('daemonset-controller');
    this.#podControl = new PodControl({ client, pods, recorder: this.#recorder, clock });
    this.#history = new RevisionHistory({
      client,
      revisions: context.informers.for(CONTROLLER_REVISIONS),
      ownerResource: DAEMON_SETS,
      hashLabel: REVISION_HASH,
    });
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const daemonSet = this.#daemonSets.cache.get(key);
    // The revisions of a DaemonSet that is being deleted may be gone before its pods, so a status would be wrong.
    if (daemonSet === undefined || daemonSet.metadata.deletionTimestamp !== undefined) return undefined;
    const now = this.#context.clock.now();
    const history = await this.#history.sync(daemonSet, signal);
    const hash = history.update.metadata.labels?.[REVISION_HASH] ?? '';
    const waitMs = this.#podControl.expectations.waitMs(daemonSet);
    const pods = await this.#claim(daemonSet, signal);
    const observed = observePlaces(daemonSet, this.#nodes.cache.list(), pods);
    const backoffKey = (node: string): string => `${key}/${daemonSet.metadata.generation}/${node}`;
    const failureWaitMs = (node: string): number => this.#backoff.waitMs(backoffKey(node), now);
    const plan = waitMs > 0 ? undefined : planDaemonSet({ ...observed, daemonSet, hash, now, failureWaitMs });
    for (const node of plan?.failed ?? []) this.#backoff.replaced(backoffKey(node), now);
    const failure = plan === undefined ? undefined : await this.#carryOut(daemonSet, plan, hash, signal);

    const counts = daemonSetStatus(daemonSet, observed.places, hash, now);
    const { collisionCount } = history;
    const acted = plan === undefined ? {} : { observedGeneration: daemonSet.metadata.generation };
    const status = { ...counts, ...acted, collisionCount };
    await writeStatus(this.#context.client, DAEMON_SETS, daemonSet, status, signal);
    if (failure !== undefined) throw failure;
    await this.#trim(daemonSet, history, pods, signal);
    const availableInMs = nextAvailableInMs(pods, daemonSet.spec?.minReadySeconds ?? 0, now);
    const times = [waitMs, plan?.requeueAfter ?? 0, availableInMs ?? 0].filter((ms) => ms > 0);
    return times.length === 0 ? undefined : { requeueAfter: Math.min(...times) };
  }

  #claim(daemonSet: DaemonSet, signal: AbortSignal): Promise<Pod[]> {
    return claimPods({
      client: this.#context.client,
      owner: daemonSet,
      ownerResource: DAEMON_SETS,
      selector: matcherFromSelector(daemonSet.spec?.selector),
      candidates: claimable(this.#pods.cache, daemonSet),
      signal,
    });
  }

  /** Returns the error instead of throwing it, because the status has to be written in any case. */
  async #carryOut(
    daemonSet: DaemonSet,
    { creates, deletes, events }: DaemonSetPlan,
    hash: string,
    signal: AbortSignal,
  ): Promise<unknown> {
    recordEvents(this.#recorder, daemonSet, events);
    try {
      await this.#podControl.deletePods(daemonSet, deletes.slice(0, BURST), signal);
      const create = (i: number): Pod => newPod(daemonSet, creates[i]!, hash);
      await this.#podControl.createPods(daemonSet, Math.min(creates.length, BURST), create, signal);
      return undefined;
    } catch (error) {
      return error;
    }
  }

  #trim(daemonSet: DaemonSet, history: History, pods: Pod[], signal: AbortSignal): Promise<void> {
    const hashes = new Set(pods.map((pod) => pod.metadata.labels?.[REVISION_HASH]));
    const isLive = ({ metadata }: History['update']): boolean =>
      metadata.name === history.update.metadata.name || hashes.has(metadata.labels?.[REVISION_HASH]);
    return this.#history.trim(daemonSet, history, isLive, signal);
  }
}
