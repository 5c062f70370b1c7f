/**
 * PodDisruptionBudget: how many pods may be evicted now. When the API server grants an eviction, it decrements
 * `status.disruptionsAllowed` and records the pod in `status.disruptedPods`. This controller keeps both correct.
 *
 * One reconcile, after a pod or a budget has changed:
 *   find the pods -> how many pods are expected (`scales.ts`) and how many are healthy -> the status (`status.ts`).
 *   When the expected number cannot be determined, no eviction is allowed.
 */
import {
  Controller,
  DEPLOYMENTS,
  type EventRecorder,
  type Informer,
  keyOf,
  matcherFromSelector,
  POD_DISRUPTION_BUDGETS,
  PODS,
  type Pod,
  type PodDisruptionBudget,
  REPLICA_SETS,
  type ReconcileResult,
  STATEFUL_SETS,
} from '@tidegate/kube';
import type { ControllerContext, MakeController } from '../context.ts';
import { indexByNamespace, inNamespace } from '../pods/index.ts';
import { RETRIES } from '../retries.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';
import { writeStatus } from '../write-status.ts';
import { Scales } from './scales.ts';
import { assess, failedStatus, needsScale } from './status.ts';

/** Keys are budgets. */
export const disruptionController: MakeController = (context) => {
  const budgets = context.informers.for(POD_DISRUPTION_BUDGETS);
  const pods = context.informers.for(PODS);
  indexByNamespace(budgets);
  indexByNamespace(pods);
  const reconciler = new DisruptionReconciler(context, budgets, pods);
  return (
    new Controller({
      name: 'disruption',
      clock: context.clock,
      metrics: context.metrics,
      log: context.log,
      queue: RETRIES,
      reconcile: untilCacheCatchesUp((key, signal) => reconciler.reconcile(key, signal)),
    })
      .watch(budgets)
      .watch(pods, (pod) => budgetsOf(budgets, pod))
      // Only to wait for these caches at the start. When one of these objects is scaled, its pods change too.
      .watch(context.informers.for(DEPLOYMENTS), NO_KEYS)
      .watch(context.informers.for(REPLICA_SETS), NO_KEYS)
      .watch(context.informers.for(STATEFUL_SETS), NO_KEYS)
  );
};

const NO_KEYS = (): string[] => [];

const budgetsOf = (budgets: Informer<PodDisruptionBudget>, { metadata }: Pod): string[] =>
  inNamespace(budgets.cache, metadata.namespace ?? '')
    .filter(({ spec }) => matcherFromSelector(spec?.selector).matches(metadata.labels))
    .map(keyOf);

class DisruptionReconciler {
  readonly #context: ControllerContext;
  readonly #budgets: Informer<PodDisruptionBudget>;
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;
  readonly #scales: Scales;

  constructor(context: ControllerContext, budgets: Informer<PodDisruptionBudget>, pods: Informer<Pod>) {
    this.#context = context;
    this.#budgets = budgets;
    this.#pods = pods;
    this.#recorder = context.recorderFor('controllermanager');
    this.#scales = new Scales(context.client, context.informers);
  }

  async reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const budget = this.#budgets.cache.get(key);
    if (budget === undefined) return undefined;
    const matcher = matcherFromSelector(budget.spec?.selector);
    const pods = inNamespace(this.#pods.cache, budget.metadata.namespace ?? '').filter(({ metadata }) =>
      matcher.matches(metadata.labels),
    );
    const { client, clock } = this.#context;
    const expected = await this.#expected(budget, pods, signal);
    const { status, notDeleted, recheckInMs } = assess(budget, pods, expected, clock.now());
    const written = await writeStatus(client, POD_DISRUPTION_BUDGETS, budget, status, signal);
    if (written !== budget && pods.length === 0) {
      this.#recorder.normal(budget, 'NoPods', 'No matching pods found');
    }
    for (const pod of notDeleted) {
      const message = `Pod was expected by PDB ${key} to be deleted but it wasn't`;
      this.#recorder.warning(pod, 'NotDeleted', message);
    }
    return recheckInMs === undefined ? undefined : { requeueAfter: recheckInMs };
  }

  /**
   * The number of pods that should exist. If it cannot be determined, the status forbids all evictions before the
   * error is thrown, so that a retry cannot come too late.
   */
  async #expected(budget: PodDisruptionBudget, pods: Pod[], signal: AbortSignal): Promise<number> {
    if (!needsScale(budget)) return pods.length;
    try {
      const { expected, unmanaged } = await this.#scales.expected(pods, signal);
      if (unmanaged.length > 0) this.#recordUnmanaged(budget);
      return expected;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#recorder.warning(
        budget,
        'CalculateExpectedPodCountFailed',
        `Failed to calculate the number of expected pods: ${reason}`,
      );
      const status = failedStatus(budget, reason, this.#context.clock.now());
      await writeStatus(this.#context.client, POD_DISRUPTION_BUDGETS, budget, status, signal);
      throw error;
    }
  }

  #recordUnmanaged(budget: PodDisruptionBudget): void {
    const selector = matcherFromSelector(budget.spec?.selector);
    this.#recorder.warning(
      budget,
      'UnmanagedPods',
      `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, ` +
        'the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account ' +
        'for these pods please set ".spec.minAvailable" field of the PDB to an integer value.',
    );
  }
}
