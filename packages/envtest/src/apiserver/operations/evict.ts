import { type KubeObject, type LabelSelector, matcherFromSelector } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import type { SubresourceHandler } from '../resources/types.ts';
import { decodeStored } from '../served/codec.ts';
import type { Core } from './core.ts';
import { type DeleteOptions, deleteObject } from './delete.ts';
import { updateObject } from './update.ts';

const BUDGETS = 'policy/poddisruptionbudgets';

interface Budget extends KubeObject {
  spec: { selector?: LabelSelector | null };
  status?: {
    disruptionsAllowed?: number;
    observedGeneration?: number;
    disruptedPods?: Record<string, string>;
  };
}

/** The subresource `pods/eviction`: checks the PodDisruptionBudget, consumes one disruption, and deletes the pod. */
export function evictionHandler(core: Core): SubresourceHandler {
  return async ({ parent: pod, body, context }) => {
    const { namespace = '', name = '' } = pod.metadata;
    const options = {
      user: context.user,
      dryRun: context.dryRun,
      fieldManager: 'eviction',
      warn: context.warn,
    };
    const budgets = needsBudget(pod) ? budgetsOf(core, pod) : [];
    if (budgets.length > 1) {
      throw new ApiError(
        500,
        'InternalError',
        'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
      );
    }
    const [budget] = budgets;
    const served = core.registry.byStorage(BUDGETS);
    if (budget !== undefined && served !== undefined) {
      await updateObject(core, {
        served,
        namespace,
        name: budget.metadata.name ?? '',
        subresource: 'status',
        options,
        retries: true,
        change: (current) => takeDisruption(current as Budget, name, context.now),
      });
    }
    const pods = core.registry.byStorage('pods');
    if (pods === undefined) throw new Error('pods are not served');
    await deleteObject(core, {
      served: pods,
      namespace,
      name,
      delete: (body.deleteOptions ?? {}) as DeleteOptions,
      options,
    });
    const respond = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
    return { respond, code: 201 };
  };
}

/** Evicting a pod that is not running does not disrupt the application. */
function needsBudget(pod: KubeObject): boolean {
  const { phase } = (pod.status ?? {}) as { phase?: string };
  return phase === 'Running' && pod.metadata.deletionTimestamp === undefined;
}

function budgetsOf(core: Core, pod: KubeObject): Budget[] {
  const { entries } = core.store.list(BUDGETS, { namespace: pod.metadata.namespace });
  return entries
    .map((entry) => decodeStored(entry) as Budget)
    .filter((budget) => matcherFromSelector(budget.spec.selector).matches(pod.metadata.labels));
}

/**
 * Takes one of the allowed disruptions. The status must be for the current generation, otherwise the numbers may
 * belong to an older, weaker budget. `disruptedPods` lets the controller count the pod as disrupted until it is gone.
 */
function takeDisruption(budget: Budget, pod: string, now: Date): Budget {
  const status = budget.status ?? {};
  const name = budget.metadata.name ?? '';
  if ((status.observedGeneration ?? 0) < (budget.metadata.generation ?? 0)) {
    throw violated(`The disruption budget ${name} is still being processed by the server.`);
  }
  const allowed = status.disruptionsAllowed ?? 0;
  if (allowed <= 0) {
    const { currentHealthy = 0, desiredHealthy = 0 } = status as Record<string, number>;
    throw violated(
      `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`,
    );
  }
  budget.status = {
    ...status,
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...status.disruptedPods, [pod]: `${now.toISOString().slice(0, 19)}Z` },
  };
  return budget;
}

const violated = (message: string): ApiError =>
  new ApiError(429, 'TooManyRequests', `Cannot evict pod as it would violate the pod's disruption budget.`, {
    causes: [{ reason: 'DisruptionBudget', message }],
  });
