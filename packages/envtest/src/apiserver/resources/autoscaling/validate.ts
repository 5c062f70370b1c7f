/** Validation of HorizontalPodAutoscalers. */
import { formatQuantity, parseApiVersion, parseQuantity } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, supported } from '../validation/checks.ts';
import { isDNS1123Label, isPathSegmentName, NON_NEGATIVE } from '../validation/names.ts';
import { validateContainerResourceName } from '../validation/resource-names.ts';
import {
  type CrossVersionReference,
  type HorizontalPodAutoscaler,
  type Metric,
  type MetricIdentifier,
  type MetricSource,
  type MetricTarget,
  type ScalingRules,
  SOURCE_FIELDS,
  type SourceField,
} from './types.ts';

const MAX_WINDOW_SECONDS = 3600;
const MAX_PERIOD_SECONDS = 1800;
const TYPES = Object.keys(SOURCE_FIELDS).sort();

export function validateAutoscaler({ spec }: HorizontalPodAutoscaler): FieldError[] {
  const { minReplicas, maxReplicas = 0 } = spec;
  return [
    ...(minReplicas !== undefined && minReplicas < 1
      ? [fieldError.invalid('spec.minReplicas', minReplicas, 'must be greater than or equal to 1')]
      : []),
    ...(maxReplicas === 0 ? [fieldError.required('spec.maxReplicas', 'must be set and greater than 0')] : []),
    ...(maxReplicas < 0
      ? [fieldError.invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to 1')]
      : []),
    ...(minReplicas !== undefined && maxReplicas < minReplicas
      ? [
          fieldError.invalid(
            'spec.maxReplicas',
            maxReplicas,
            'must be greater than or equal to `minReplicas`',
          ),
        ]
      : []),
    ...validateReference(spec.scaleTargetRef, 'spec.scaleTargetRef', true),
    ...each('spec.metrics', spec.metrics, validateMetric),
    ...(minReplicas === 0 && !spec.metrics?.some(({ type }) => type === 'Object' || type === 'External')
      ? [
          fieldError.forbidden(
            'spec.metrics',
            'must specify at least one Object or External metric to support scaling to zero replicas',
          ),
        ]
      : []),
    ...validateRules(spec.behavior?.scaleUp, 'spec.behavior.scaleUp'),
    ...validateRules(spec.behavior?.scaleDown, 'spec.behavior.scaleDown'),
  ];
}

const segment = (path: string, value: string | undefined, missing = ''): FieldError[] =>
  value === undefined || value === ''
    ? [fieldError.required(path, missing)]
    : named(path, value, isPathSegmentName(value));

function validateReference(
  reference: CrossVersionReference | undefined,
  path: string,
  needsGroup: boolean,
): FieldError[] {
  const { apiVersion = '', kind, name } = reference ?? {};
  const wrong = (detail: string): FieldError[] => [
    fieldError.invalid(`${path}.apiVersion`, apiVersion, detail),
  ];
  return [
    ...segment(`${path}.kind`, kind),
    ...segment(`${path}.name`, name),
    ...(apiVersion.split('/').length > 2
      ? wrong(`unexpected GroupVersion string: ${apiVersion}`)
      : needsGroup && parseApiVersion(apiVersion).group === ''
        ? wrong('apiVersion must specify API group')
        : []),
  ];
}

function validateMetric(metric: Metric, path: string): FieldError[] {
  const { type = '' } = metric;
  const present = Object.values(SOURCE_FIELDS).filter((field) => metric[field] !== undefined);
  const [first] = present;
  const expected = SOURCE_FIELDS[type as keyof typeof SOURCE_FIELDS];
  const unsupported = fieldError.notSupported(`${path}.type`, type, TYPES);
  return [
    ...(type === '' ? [fieldError.required(`${path}.type`, 'must specify a metric source type')] : []),
    ...(expected === undefined ? [unsupported] : []),
    ...(first === undefined ? [] : validateSource(metric[first] ?? {}, first, `${path}.${first}`)),
    ...(expected === undefined
      ? [unsupported]
      : metric[expected] === undefined
        ? [
            fieldError.required(
              `${path}.${expected}`,
              'must populate information for the given metric source',
            ),
          ]
        : []),
    ...(present.length === 1
      ? []
      : present
          .filter((field) => field !== expected)
          .map((field) =>
            fieldError.forbidden(`${path}.${field}`, 'must populate the given metric source only'),
          )),
  ];
}

function validateSource(source: MetricSource, field: SourceField, path: string): FieldError[] {
  const { metric = {}, target = {} } = source;
  const at = `${path}.target`;
  const ofMetric = [...validateIdentifier(metric, `${path}.metric`), ...validateTarget(target, at)];
  const missing = target.value === undefined && target.averageValue === undefined;
  switch (field) {
    case 'object':
      return [
        ...validateReference(source.describedObject, `${path}.describedObject`, false),
        ...ofMetric,
        ...(missing
          ? [fieldError.required(`${at}.averageValue`, 'must set either a target value or averageValue')]
          : []),
      ];
    case 'external':
      return [
        ...ofMetric,
        ...(missing
          ? [
              fieldError.required(
                `${at}.averageValue`,
                'must set either a target value for metric or a per-pod target',
              ),
            ]
          : []),
        ...(target.value !== undefined && target.averageValue !== undefined
          ? [
              fieldError.forbidden(
                `${at}.value`,
                'may not set both a target value for metric and a per-pod target',
              ),
            ]
          : []),
      ];
    case 'pods':
      return [
        ...ofMetric,
        ...(target.averageValue === undefined
          ? [fieldError.required(`${at}.averageValue`, 'must specify a positive target averageValue')]
          : []),
      ];
    default:
      return validateResource(source, field, path);
  }
}

function validateResource(source: MetricSource, field: SourceField, path: string): FieldError[] {
  const { name = '', container = '', target = {} } = source;
  const at = `${path}.target`;
  const ofContainer = field === 'containerResource';
  return [
    ...(name === ''
      ? [fieldError.required(`${path}.name`, 'must specify a resource name')]
      : ofContainer
        ? validateContainerResourceName(name, `${path}.name`)
        : []),
    ...(!ofContainer
      ? []
      : container === ''
        ? [fieldError.required(`${path}.container`, 'must specify a container')]
        : named(`${path}.container`, container, isDNS1123Label(container))),
    ...validateTarget(target, at),
    ...(target.averageUtilization === undefined && target.averageValue === undefined
      ? [
          fieldError.required(
            `${at}.averageUtilization`,
            'must set either a target raw value or a target utilization',
          ),
        ]
      : []),
    ...(target.averageUtilization !== undefined && target.averageValue !== undefined
      ? [
          fieldError.forbidden(
            `${at}.averageValue`,
            'may not set both a target raw value and a target utilization',
          ),
        ]
      : []),
  ];
}

const validateIdentifier = ({ name }: MetricIdentifier, path: string): FieldError[] =>
  segment(`${path}.name`, name, 'must specify a metric name');

function validateTarget(target: MetricTarget, path: string): FieldError[] {
  const { type = '', averageUtilization } = target;
  return [
    ...(type === '' ? [fieldError.required(`${path}.type`, 'must specify a metric target type')] : []),
    ...(['Utilization', 'Value', 'AverageValue'].includes(type)
      ? []
      : [fieldError.invalid(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue')]),
    ...(['value', 'averageValue'] as const).flatMap((field) => {
      const quantity = target[field] === undefined ? undefined : parseQuantity(String(target[field]));
      return quantity === undefined || quantity.nanos > 0n
        ? []
        : [fieldError.invalid(`${path}.${field}`, formatQuantity(quantity), 'must be positive')];
    }),
    ...(averageUtilization !== undefined && averageUtilization < 1
      ? [fieldError.invalid(`${path}.averageUtilization`, averageUtilization, 'must be greater than 0')]
      : []),
  ];
}

function validateRules(rules: ScalingRules | undefined, path: string): FieldError[] {
  if (rules === undefined) return [];
  const { stabilizationWindowSeconds: window = 0, policies = [], tolerance } = rules;
  const at = `${path}.stabilizationWindowSeconds`;
  const allowed = parseQuantity(String(tolerance ?? '0'));
  return [
    ...(window < 0 ? [fieldError.invalid(at, window, 'must be greater than or equal to zero')] : []),
    ...(window > MAX_WINDOW_SECONDS
      ? [fieldError.invalid(at, window, `must be less than or equal to ${MAX_WINDOW_SECONDS}`)]
      : []),
    ...supported(`${path}.selectPolicy`, rules.selectPolicy, ['Disabled', 'Max', 'Min']),
    ...(policies.length === 0
      ? [fieldError.required(`${path}.policies`, 'must specify at least one Policy')]
      : []),
    ...each(`${path}.policies`, policies, ({ type = '', value = 0, periodSeconds: period = 0 }, here) => [
      ...supported(`${here}.type`, type, ['Percent', 'Pods']),
      ...(value <= 0 ? [fieldError.invalid(`${here}.value`, value, 'must be greater than zero')] : []),
      ...(period <= 0
        ? [fieldError.invalid(`${here}.periodSeconds`, period, 'must be greater than zero')]
        : []),
      ...(period > MAX_PERIOD_SECONDS
        ? [
            fieldError.invalid(
              `${here}.periodSeconds`,
              period,
              `must be less than or equal to ${MAX_PERIOD_SECONDS}`,
            ),
          ]
        : []),
    ]),
    ...(allowed !== undefined && allowed.nanos < 0n
      ? [fieldError.invalid(`${path}.tolerance`, tolerance, NON_NEGATIVE)]
      : []),
  ];
}
