import { builtinSchema } from '../../schema/builtin.ts';
import { define, statusOf } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { nonNegative } from '../validation/checks.ts';
import { type HorizontalPodAutoscaler, type Metric, type ScalingRules, sourceOf } from './types.ts';
import { fromV2, toV2 } from './v1.ts';
import { validateAutoscaler } from './validate.ts';

const DEFAULT_UTILIZATION = 80;
const SHOWN_METRICS = 2;

export const horizontalpodautoscalers = define<HorizontalPodAutoscaler>({
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  shortNames: ['hpa'],
  categories: ['all'],
  parts: ['spec', 'status'],
  subresources: statusOf('autoscaling', 'v2', 'HorizontalPodAutoscaler'),
  legacy: [{ name: 'v1', toStorage: toV2, fromStorage: fromV2 }],
  table: [
    nameColumn,
    {
      name: 'Reference',
      field: 'spec.scaleTargetRef',
      cell: ({ spec }) => `${spec.scaleTargetRef?.kind ?? ''}/${spec.scaleTargetRef?.name ?? ''}`,
    },
    {
      name: 'Targets',
      field: 'spec.metrics',
      cell: ({ spec, status }) => shownMetrics(spec.metrics, status.currentMetrics),
    },
    { name: 'MinPods', field: 'spec.minReplicas', cell: ({ spec }) => String(spec.minReplicas ?? '<unset>') },
    { name: 'MaxPods', field: 'spec.maxReplicas', cell: ({ spec }) => spec.maxReplicas ?? 0 },
    {
      name: 'Replicas',
      field: 'status.currentReplicas',
      cell: ({ status }) => status.currentReplicas ?? 0,
    },
    ageColumn,
  ],
  documentation: () => builtinSchema('autoscaling/v2', 'HorizontalPodAutoscaler'),
  defaults({ spec, status }) {
    spec.minReplicas ??= 1;
    if ((spec.metrics ?? []).length === 0) {
      const target = { type: 'Utilization', averageUtilization: DEFAULT_UTILIZATION };
      spec.metrics = [{ type: 'Resource', resource: { name: 'cpu', target } }];
    }
    if (spec.behavior !== undefined) {
      spec.behavior.scaleUp = { ...scaleUpRules(), ...spec.behavior.scaleUp };
      spec.behavior.scaleDown = { ...scaleDownRules(), ...spec.behavior.scaleDown };
    }
    status.currentMetrics ??= null;
    status.desiredReplicas ??= 0;
  },
  prepareForCreate(autoscaler) {
    autoscaler.status = { currentMetrics: null, desiredReplicas: 0 };
  },
  validate: validateAutoscaler,
  validateStatusUpdate: ({ status }) => [
    ...nonNegative('status.currentReplicas', status.currentReplicas),
    ...nonNegative('status.desiredReplicas', status.desiredReplicas),
  ],
});

const scaleUpRules = (): ScalingRules => ({
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [
    { type: 'Pods', value: 4, periodSeconds: 15 },
    { type: 'Percent', value: 100, periodSeconds: 15 },
  ],
});

/** Without a window of its own, scaling down uses that of the controller. */
const scaleDownRules = (): ScalingRules => ({
  selectPolicy: 'Max',
  policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }],
});

/** For example `cpu: 10%/80%, memory: <unknown>/1Gi`. */
function shownMetrics(metrics: Metric[] | undefined, current: Metric[] | null | undefined): string {
  if (metrics === undefined || metrics.length === 0) return '<none>';
  const shown = metrics.map((metric, i) => shownMetric(metric, current?.[i]));
  const text = shown.slice(0, SHOWN_METRICS).join(', ');
  return shown.length > SHOWN_METRICS ? `${text} + ${shown.length - SHOWN_METRICS} more...` : text;
}

function shownMetric(metric: Metric, status: Metric | undefined): string {
  const source = sourceOf(metric);
  if (source === undefined) return '<unknown type>';
  const { target = {}, name } = source;
  const now = status?.type === metric.type ? sourceOf(status)?.current : undefined;
  const unknown = '<unknown>';
  if (metric.type === 'Resource' || metric.type === 'ContainerResource') {
    if (target.averageValue !== undefined) {
      return `${name}: ${now === undefined ? unknown : (now.averageValue ?? '0')}/${target.averageValue}`;
    }
    const percent = (value: number | undefined, none: string): string =>
      value === undefined ? none : `${value}%`;
    return `${name}: ${percent(now?.averageUtilization, unknown)}/${percent(target.averageUtilization, '<auto>')}`;
  }
  if (metric.type === 'Pods')
    return `${now === undefined ? unknown : (now.averageValue ?? '0')}/${target.averageValue}`;
  return target.averageValue === undefined
    ? `${now === undefined ? unknown : (now.value ?? '0')}/${target.value}`
    : `${now?.averageValue ?? unknown}/${target.averageValue} (avg)`;
}
