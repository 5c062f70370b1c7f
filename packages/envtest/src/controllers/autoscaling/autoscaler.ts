/** Reconciles one HorizontalPodAutoscaler: reads the metrics, decides, scales, and reports. */
import {
  type Clock,
  type Condition,
  type EventRecorder,
  HORIZONTAL_POD_AUTOSCALERS,
  type HorizontalPodAutoscaler,
  type KubeClient,
  type KubeObject,
  PODS,
  type Resource,
  setCondition,
} from '@tidegate/kube';
import type { MetricStatus } from 'kubernetes-types/autoscaling/v2.d.ts';
import { isActive } from '../pods/index.ts';
import { timestamp } from '../timestamp.ts';
import { writeStatus } from '../write-status.ts';
import { decideReplicas, LONGEST_WINDOW_SECONDS, type Recommendation, type ScaleEvent } from './behavior.ts';
import { MetricError, type Observed, type PodUsage, type Proposal, propose } from './proposal.ts';
import { readTarget, type Target } from './target.ts';

const POD_METRICS: Resource<KubeObject & Pick<PodUsage, 'containers'>> = {
  group: 'metrics.k8s.io',
  version: 'v1beta1',
  resource: 'pods',
  namespaced: true,
};

export interface AutoscalerOptions {
  client: KubeClient;
  recorder: EventRecorder;
  clock: Clock;
}

/** What was recommended and changed lately. It is lost with a restart, as in kube-controller-manager. */
interface Memory {
  recommendations: Recommendation[];
  events: ScaleEvent[];
}

type Status = NonNullable<HorizontalPodAutoscaler['status']>;
type Outcome = Omit<Condition, 'type' | 'lastTransitionTime'>;

export class Autoscaler {
  readonly #options: AutoscalerOptions;
  readonly #memories = new Map<string, Memory>();

  constructor(options: AutoscalerOptions) {
    this.#options = options;
  }

  forget(key: string): void {
    this.#memories.delete(key);
  }

  async reconcile(key: string, hpa: HorizontalPodAutoscaler, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const status: Status = { ...hpa.status, observedGeneration: hpa.metadata.generation } as Status;
    const report = (): Promise<unknown> =>
      writeStatus(client, HORIZONTAL_POD_AUTOSCALERS, hpa, status, signal);
    let target: Target;
    try {
      target = await readTarget(client, hpa, signal);
    } catch (error) {
      const message = messageOf(error);
      this.#options.recorder.warning(hpa, 'FailedGetScale', message);
      this.#set(status, 'AbleToScale', {
        status: 'False',
        reason: 'FailedGetScale',
        message: `the HPA controller was unable to get the target's current scale: ${message}`,
      });
      await report();
      return;
    }
    this.#set(status, 'AbleToScale', {
      status: 'True',
      reason: 'SucceededGetScale',
      message: "the HPA controller was able to get the target's current scale",
    });
    status.currentReplicas = target.actual;
    const desired = await this.#desired(key, hpa, target, status, signal);
    let failure: unknown;
    if (desired !== undefined) {
      status.desiredReplicas = desired.replicas;
      if (desired.replicas !== target.replicas) {
        failure = await this.#scale(key, hpa, target, desired, status);
      }
    }
    await report();
    if (failure !== undefined) throw failure;
  }

  /** Undefined if nothing should be changed. */
  async #desired(
    key: string,
    hpa: HorizontalPodAutoscaler,
    target: Target,
    status: Status,
    signal: AbortSignal,
  ): Promise<{ replicas: number; reason: string } | undefined> {
    const { spec } = hpa;
    const min = spec?.minReplicas ?? 1;
    const max = spec?.maxReplicas ?? min;
    if (target.replicas === 0 && min !== 0) {
      this.#set(status, 'ScalingActive', {
        status: 'False',
        reason: 'ScalingDisabled',
        message: 'scaling is disabled since the replica count of the target is zero',
      });
      status.desiredReplicas = 0;
      return undefined;
    }
    if (target.replicas > max)
      return { replicas: max, reason: 'Current number of replicas above Spec.MaxReplicas' };
    if (target.replicas < min)
      return { replicas: min, reason: 'Current number of replicas below Spec.MinReplicas' };
    const proposal = await this.#propose(hpa, target, status, signal);
    if (proposal === undefined) return undefined;
    const now = this.#options.clock.now();
    const memory = this.#memoryOf(key, now);
    const decision = decideReplicas(
      proposal.replicas,
      target.replicas,
      { min, max },
      spec?.behavior,
      memory,
      now,
    );
    memory.recommendations.push({ at: now, replicas: proposal.replicas });
    this.#set(status, 'AbleToScale', { status: 'True', ...decision.ableToScale });
    this.#set(status, 'ScalingLimited', decision.limited);
    const { replicas } = decision;
    if (replicas > target.replicas) return { replicas, reason: `${proposal.metric} above target` };
    return { replicas, reason: 'All metrics below target' };
  }

  /** The largest proposal of all metrics. If a metric cannot be read, the target is not scaled down. */
  async #propose(
    hpa: HorizontalPodAutoscaler,
    target: Target,
    status: Status,
    signal: AbortSignal,
  ): Promise<Proposal | undefined> {
    const observed = await this.#observe(hpa, target, signal);
    const proposals: Proposal[] = [];
    const failures: MetricError[] = [];
    const current: MetricStatus[] = [];
    for (const metric of hpa.spec?.metrics ?? []) {
      try {
        const proposal = propose(metric, observed);
        proposals.push(proposal);
        current.push(proposal.status);
      } catch (error) {
        if (!(error instanceof MetricError)) throw error;
        failures.push(error);
        // Clients find the status of a metric by its position.
        current.push({ type: metric.type });
      }
    }
    status.currentMetrics = proposals.length === 0 ? undefined : current;
    const best = proposals.sort((a, b) => b.replicas - a.replicas)[0];
    const [failure] = failures;
    for (const { reason, message } of failures) this.#options.recorder.warning(hpa, reason, message);
    const blocked = failure !== undefined && (best === undefined || best.replicas < target.replicas);
    if (blocked || best === undefined) {
      this.#set(status, 'ScalingActive', {
        status: 'False',
        reason: failure?.reason ?? 'InvalidMetric',
        message: `the HPA was unable to compute the replica count: ${failure?.message ?? 'the autoscaler has no metrics'}`,
      });
      return undefined;
    }
    this.#set(status, 'ScalingActive', {
      status: 'True',
      reason: 'ValidMetricFound',
      message: `the HPA was able to successfully calculate a replica count from ${best.metric}`,
    });
    return best;
  }

  async #observe(hpa: HorizontalPodAutoscaler, target: Target, signal: AbortSignal): Promise<Observed> {
    const { client } = this.#options;
    const selection = { namespace: hpa.metadata.namespace, labelSelector: target.selector, signal };
    const [pods, usage] = await Promise.all([
      client.list(PODS, selection),
      client.list(POD_METRICS, selection),
    ]);
    return {
      replicas: target.replicas,
      pods: pods.items.filter(isActive),
      usage: usage.items.map(({ metadata, containers }) => ({ name: metadata.name ?? '', containers })),
    };
  }

  /**
   * Returns the error instead of throwing it, because the status has to report it before the retry. A conflict is usual:
   * the status of the target changes at the same time.
   */
  async #scale(
    key: string,
    hpa: HorizontalPodAutoscaler,
    target: Target,
    desired: { replicas: number; reason: string },
    status: Status,
  ): Promise<unknown> {
    const { recorder, clock } = this.#options;
    const what = `New size: ${desired.replicas}; reason: ${desired.reason}`;
    try {
      await target.scaleTo(desired.replicas);
    } catch (error) {
      const message = messageOf(error);
      recorder.warning(hpa, 'FailedRescale', `${what}; error: ${message}`);
      this.#set(status, 'AbleToScale', {
        status: 'False',
        reason: 'FailedUpdateScale',
        message: `the HPA controller was unable to update the target scale: ${message}`,
      });
      return error;
    }
    const now = clock.now();
    recorder.normal(hpa, 'SuccessfulRescale', what);
    this.#set(status, 'AbleToScale', {
      status: 'True',
      reason: 'SucceededRescale',
      message: `the HPA controller was able to update the target scale to ${desired.replicas}`,
    });
    status.lastScaleTime = timestamp(now);
    this.#memoryOf(key, now).events.push({ at: now, change: desired.replicas - target.replicas });
    return undefined;
  }

  #memoryOf(key: string, now: number): Memory {
    const memory = this.#memories.get(key) ?? { recommendations: [], events: [] };
    const oldest = now - LONGEST_WINDOW_SECONDS * 1000;
    memory.recommendations = memory.recommendations.filter(({ at }) => at > oldest);
    memory.events = memory.events.filter(({ at }) => at > oldest);
    this.#memories.set(key, memory);
    return memory;
  }

  #set(status: Status, type: string, outcome: Outcome): void {
    const conditions = (status.conditions ?? []) as Condition[];
    status.conditions = [
      ...setCondition(conditions, { type, ...outcome }, this.#options.clock.now()),
    ] as Status['conditions'];
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
