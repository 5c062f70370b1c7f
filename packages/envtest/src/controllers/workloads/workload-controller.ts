import { Controller, type ReconcileResult } from '@tidegate/kube';
import type { ControllerContext } from '../context.ts';
import { RETRIES } from '../retries.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';

interface WorkloadControllerOptions {
  name: string;
  concurrency?: number;
  reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined>;
}

/** The controller of one kind of workload. All kinds have the same retries, and wait for a cache that is behind. */
export const workloadController = (
  { clock, metrics, log }: ControllerContext,
  { reconcile, ...options }: WorkloadControllerOptions,
): Controller =>
  new Controller({
    ...options,
    reconcile: untilCacheCatchesUp(reconcile),
    queue: RETRIES,
    clock,
    metrics,
    log,
  });
