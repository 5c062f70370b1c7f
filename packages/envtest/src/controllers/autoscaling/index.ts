/**
 * HorizontalPodAutoscaler: sets the replicas of a workload so that its pods use as much as the targets say.
 *
 * One reconcile, every fifteen seconds: read the scale of the target (`target.ts`) -> compare the usage of its pods with each
 * metric (`proposal.ts`) -> limit the change (`behavior.ts`) -> write the scale, the conditions and the current metrics. The
 * usage comes from metrics.k8s.io, where the embedded API server declares it instead of measuring it.
 */
import { Controller, HORIZONTAL_POD_AUTOSCALERS } from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { RETRIES } from '../retries.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';
import { Autoscaler } from './autoscaler.ts';

const PERIOD_MS = 15_000;

export const autoscalingController: MakeController = (context) => {
  const { client, informers, clock, metrics, log } = context;
  const autoscalers = informers.for(HORIZONTAL_POD_AUTOSCALERS);
  const recorder = context.recorderFor('horizontal-pod-autoscaler');
  const autoscaler = new Autoscaler({ client, recorder, clock });
  /** The generation of the last reconcile. A status that this controller writes must not start the next one. */
  const seen = new Map<string, { generation: string; due: number }>();
  return new Controller({
    name: 'horizontalpodautoscaler',
    concurrency: 5,
    queue: RETRIES,
    clock,
    metrics,
    log,
    reconcile: untilCacheCatchesUp(async (key, signal) => {
      const hpa = autoscalers.cache.get(key);
      if (hpa === undefined) {
        autoscaler.forget(key);
        seen.delete(key);
        return undefined;
      }
      const generation = JSON.stringify([hpa.metadata.uid, hpa.spec]);
      const last = seen.get(key);
      const left = (last?.due ?? 0) - clock.monotonic();
      if (last?.generation === generation && left > 0) return { requeueAfter: left };
      await autoscaler.reconcile(key, hpa, signal);
      seen.set(key, { generation, due: clock.monotonic() + PERIOD_MS });
      return { requeueAfter: PERIOD_MS };
    }),
  }).watch(autoscalers);
};
