/** How many replicas a metric asks for. Pure. */
import { formatQuantity, ownField, type Pod, parseQuantity } from '@tidegate/kube';
import type { MetricSpec, MetricStatus, MetricTarget } from 'kubernetes-types/autoscaling/v2.d.ts';
import { isReady } from '../pods/index.ts';

/** Differences below this share of the target do not change the number of replicas. */
const TOLERANCE = 0.1;

/** The usage of one pod by container, as metrics.k8s.io reports it. */
export interface PodUsage {
  name: string;
  containers: readonly { name: string; usage: Record<string, string> }[];
}

export interface Proposal {
  replicas: number;
  /** The metric in words, for events and conditions. */
  metric: string;
  status: MetricStatus;
}

/** The metric cannot be used. The reason is that of the condition ScalingActive. */
export class MetricError extends Error {
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.name = 'MetricError';
    this.reason = reason;
  }
}

export interface Observed {
  /** The replicas that the target has now. */
  replicas: number;
  /** The pods of the target that are not being deleted and have not ended. */
  pods: readonly Pod[];
  usage: readonly PodUsage[];
}

export function propose(metric: MetricSpec, observed: Observed): Proposal {
  const source = metric.resource ?? metric.containerResource;
  if ((metric.type !== 'Resource' && metric.type !== 'ContainerResource') || source === undefined) {
    throw new MetricError(
      `FailedGet${metric.type}Metric`,
      `metrics of type ${metric.type} are not available in this cluster; use Resource or ContainerResource`,
    );
  }
  const container = metric.containerResource?.container;
  const pods = measuredPods(source.name, container, observed);
  const { replicas, current } =
    source.target.averageValue === undefined
      ? byUtilization(source.name, source.target, pods, observed.replicas)
      : byValue(source.target, pods, observed.replicas);
  const unit = source.target.averageValue === undefined ? ' utilization (percentage of request)' : '';
  return {
    replicas,
    metric: `${source.name} ${container === undefined ? '' : 'container '}resource${unit}`,
    status:
      container === undefined
        ? { type: metric.type, resource: { name: source.name, current } }
        : { type: metric.type, containerResource: { name: source.name, container, current } },
  };
}

interface Measured {
  pod: Pod;
  used: bigint;
  requested: bigint | undefined;
}

const nanosOf = (text: string | undefined): bigint | undefined =>
  text === undefined ? undefined : parseQuantity(String(text))?.nanos;

/** The pods that are ready and have metrics. A pod that has just started says nothing about the load yet. */
function measuredPods(
  resource: string,
  container: string | undefined,
  { pods, usage }: Observed,
): Measured[] {
  const isChosen = ({ name }: { name: string }): boolean => container === undefined || name === container;
  const total = (amounts: (bigint | undefined)[]): bigint =>
    amounts.reduce<bigint>((sum, n) => sum + (n ?? 0n), 0n);
  const byPod = new Map(usage.map((one) => [one.name, one]));
  const measured = pods.filter(isReady).flatMap((pod): Measured[] => {
    const containers = byPod.get(pod.metadata.name ?? '')?.containers.filter(isChosen) ?? [];
    if (containers.length === 0) return [];
    const requests = (pod.spec?.containers ?? [])
      .filter(isChosen)
      .map(({ resources }) => nanosOf(ownField(resources?.requests, resource)));
    return [
      {
        pod,
        used: total(containers.map((one) => nanosOf(ownField(one.usage, resource)))),
        requested: requests.includes(undefined) ? undefined : total(requests),
      },
    ];
  });
  if (measured.length > 0) return measured;
  throw new MetricError(
    'FailedGetResourceMetric',
    `failed to get ${resource} ${container === undefined ? 'utilization' : 'container utilization'}: did not receive metrics for targeted pods (pods might be unready)`,
  );
}

type Result = { replicas: number; current: MetricStatusValue };
type MetricStatusValue = NonNullable<MetricStatus['resource']>['current'];

function byUtilization(resource: string, target: MetricTarget, pods: Measured[], replicas: number): Result {
  const missing = pods.find(({ requested }) => requested === undefined);
  if (missing !== undefined) {
    throw new MetricError(
      'FailedGetResourceMetric',
      `failed to get ${resource} utilization: missing request for ${resource} in container of Pod ${missing.pod.metadata.name}`,
    );
  }
  const used = pods.reduce((sum, pod) => sum + pod.used, 0n);
  const requested = pods.reduce((sum, pod) => sum + (pod.requested ?? 0n), 0n);
  const utilization = requested === 0n ? 0 : Number((used * 100n) / requested);
  const ratio = utilization / (target.averageUtilization ?? 100);
  return {
    replicas: scaled(ratio, pods.length, replicas),
    current: { averageUtilization: utilization, averageValue: average(used, pods.length, resource) },
  };
}

function byValue(target: MetricTarget, pods: Measured[], replicas: number): Result {
  const used = pods.reduce((sum, pod) => sum + pod.used, 0n);
  const wanted = nanosOf(target.averageValue) ?? 1n;
  const ratio = Number(used) / pods.length / Number(wanted);
  const format = parseQuantity(String(target.averageValue))?.format ?? 'decimal';
  const nanos = used / BigInt(pods.length);
  return {
    replicas: scaled(ratio, pods.length, replicas),
    current: { averageValue: formatQuantity({ nanos, format }) },
  };
}

const average = (used: bigint, count: number, resource: string): string =>
  formatQuantity({ nanos: used / BigInt(count), format: resource === 'cpu' ? 'decimal' : 'binary' });

/** Within the tolerance, the number stays as it is. */
const scaled = (ratio: number, measured: number, replicas: number): number =>
  Math.abs(ratio - 1) <= TOLERANCE ? replicas : Math.ceil(ratio * measured - 1e-9);
