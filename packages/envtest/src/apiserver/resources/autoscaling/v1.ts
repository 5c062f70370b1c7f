/**
 * autoscaling/v1: one target for CPU utilization. Other metrics, the behavior, the current metrics and the conditions are
 * in annotations, so that a client that reads and writes v1 does not lose them.
 */

import type { KubeObject } from '@tidegate/kube';
import { parseJson } from '../../schema/json.ts';
import {
  type HorizontalPodAutoscaler,
  type Metric,
  type MetricSource,
  SOURCE_FIELDS,
  sourceOf,
} from './types.ts';

const METRICS = 'autoscaling.alpha.kubernetes.io/metrics';
const CURRENT_METRICS = 'autoscaling.alpha.kubernetes.io/current-metrics';
const BEHAVIOR = 'autoscaling.alpha.kubernetes.io/behavior';
const CONDITIONS = 'autoscaling.alpha.kubernetes.io/conditions';
const ANNOTATIONS = [METRICS, CURRENT_METRICS, BEHAVIOR, CONDITIONS];

interface V1 extends KubeObject {
  spec?: Omit<HorizontalPodAutoscaler['spec'], 'metrics' | 'behavior'> & {
    targetCPUUtilizationPercentage?: number;
  };
  status?: Omit<HorizontalPodAutoscaler['status'], 'currentMetrics' | 'conditions'> & {
    currentCPUUtilizationPercentage?: number;
  };
}

const isCpuTarget = (metric: Metric): boolean =>
  metric.type === 'Resource' &&
  metric.resource?.name === 'cpu' &&
  metric.resource.target?.averageUtilization !== undefined;

export function fromV2(object: KubeObject): KubeObject {
  const { metadata, spec, status = {} } = object as HorizontalPodAutoscaler;
  const { metrics = [], behavior, ...target } = spec;
  const { currentMetrics, conditions = [], ...counts } = status;
  const current = currentMetrics ?? [];
  const others = metrics.filter((metric) => !isCpuTarget(metric)).map((metric) => flat(metric, 'target'));
  const cpu = metrics.find(isCpuTarget)?.resource?.target?.averageUtilization;
  const now = current.find(({ resource }) => resource?.name === 'cpu')?.resource?.current?.averageUtilization;
  const kept = withoutOurs(metadata.annotations);
  const annotations = {
    ...kept,
    ...(others.length > 0 && { [METRICS]: JSON.stringify(others) }),
    ...(current.length > 0 && {
      [CURRENT_METRICS]: JSON.stringify(current.map((metric) => flat(metric, 'current'))),
    }),
    ...(behavior && { [BEHAVIOR]: JSON.stringify(behavior) }),
    ...(conditions.length > 0 && { [CONDITIONS]: JSON.stringify(conditions) }),
  };
  const { annotations: _, ...rest } = metadata;
  const converted: V1 = {
    ...object,
    metadata: { ...rest, ...(Object.keys(annotations).length > 0 && { annotations }) },
    spec: { ...target, ...(cpu !== undefined && { targetCPUUtilizationPercentage: cpu }) },
    status: {
      currentReplicas: 0,
      ...counts,
      ...(now !== undefined && { currentCPUUtilizationPercentage: now }),
    },
  };
  return converted;
}

export function toV2(object: KubeObject): KubeObject {
  const { metadata, spec = {}, status = {} } = object as V1;
  const { targetCPUUtilizationPercentage: cpu, ...target } = spec;
  const { currentCPUUtilizationPercentage: _, ...counts } = status;
  const { annotations = {}, ...rest } = metadata;
  const read = <T>(name: string): T | undefined => parsed(annotations[name]) as T | undefined;
  const others = (read<FlatMetric[]>(METRICS) ?? []).map((metric) => nested(metric, 'target'));
  const current = (read<FlatMetric[]>(CURRENT_METRICS) ?? []).map((metric) => nested(metric, 'current'));
  const behavior = read<HorizontalPodAutoscaler['spec']['behavior']>(BEHAVIOR);
  const conditions = read<HorizontalPodAutoscaler['status']['conditions']>(CONDITIONS);
  const ofCpu: Metric[] =
    cpu === undefined
      ? []
      : [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: cpu } },
          },
        ];
  const kept = withoutOurs(annotations);
  return {
    ...object,
    metadata: { ...rest, ...(Object.keys(kept).length > 0 && { annotations: kept }) },
    spec: { ...target, metrics: [...ofCpu, ...others], ...(behavior && { behavior }) },
    status: {
      ...counts,
      ...(current.length > 0 && { currentMetrics: current }),
      ...(conditions && { conditions }),
    },
  };
}

const withoutOurs = (annotations: Record<string, string> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter(([name]) => !ANNOTATIONS.includes(name)));

/** A client may have written anything into the annotation. */
function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}

type Side = 'target' | 'current';
type FlatMetric = { type?: string } & Record<string, unknown>;

/** In v1, the fields of the metric and of the target are fields of the source: `targetAverageValue`. */
function flat(metric: Metric, side: Side): FlatMetric {
  const field = SOURCE_FIELDS[(metric.type ?? '') as keyof typeof SOURCE_FIELDS];
  const { metric: identifier, describedObject, [side]: values, name, container } = sourceOf(metric) ?? {};
  const named = (key: string): string => `${side}${key.replace(/^./, (c) => c.toUpperCase())}`;
  const { type: _, ...amounts } = values ?? {};
  const source = {
    ...(name !== undefined && { name }),
    ...(container !== undefined && { container }),
    ...(describedObject && { target: describedObject }),
    ...(identifier && { metricName: identifier.name }),
    ...(identifier?.selector && { selector: identifier.selector }),
    ...Object.fromEntries(Object.entries(amounts).map(([key, value]) => [named(key), value])),
  };
  return { type: metric.type, ...(field && { [field]: source }) };
}

function nested(metric: FlatMetric, side: Side): Metric {
  const field = SOURCE_FIELDS[(metric.type ?? '') as keyof typeof SOURCE_FIELDS];
  if (field === undefined) return { type: metric.type };
  const { name, container, target, metricName, selector, ...rest } = (metric[field] ?? {}) as Record<
    string,
    unknown
  >;
  const amounts = Object.fromEntries(
    Object.entries(rest)
      .filter(([key]) => key.startsWith(side))
      .map(([key, value]) => [key.slice(side.length).replace(/^./, (c) => c.toLowerCase()), value]),
  );
  const type =
    'averageUtilization' in amounts ? 'Utilization' : 'averageValue' in amounts ? 'AverageValue' : 'Value';
  const source = {
    ...(name !== undefined && { name }),
    ...(container !== undefined && { container }),
    ...(target !== undefined && { describedObject: target }),
    ...(metricName !== undefined && {
      metric: { name: metricName, ...(selector !== undefined && { selector }) },
    }),
    [side]: { ...(side === 'target' && { type }), ...amounts },
  } as MetricSource;
  return { type: metric.type, [field]: source };
}
