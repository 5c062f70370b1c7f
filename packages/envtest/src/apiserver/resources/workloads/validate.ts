/** Validation of the apps kinds. The messages differ in details between kinds, exactly as in kube-apiserver. */
import { type FieldError, fieldError } from '@tidegate/serving';
import type { PodTemplateSpec, Volume } from '../pod/types.ts';
import { validatePodTemplate } from '../pod/validate.ts';
import { each, named, nonNegative, oneOf } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE, isDNS1123Label } from '../validation/names.ts';
import {
  type LabelSelector,
  printableSelector,
  selectorIsEmpty,
  selectorMatches,
  sortedLabels,
  validateLabelSelector,
} from '../validation/selectors.ts';
import { intOrPercent, validateDaemonSetStrategy, validateDeploymentStrategy } from './strategy.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from './types.ts';

const SELECTOR = 'spec.selector';
const TEMPLATE = 'spec.template';

function validateSelector(selector: LabelSelector | undefined, kind: string): FieldError[] {
  if (selector === undefined) return [fieldError.required(SELECTOR)];
  return [
    ...validateLabelSelector(selector, SELECTOR),
    ...(selectorIsEmpty(selector)
      ? [fieldError.invalid(SELECTOR, selector, `empty selector is invalid for ${kind}`)]
      : []),
  ];
}

function validateSelected(selector: LabelSelector | undefined, template: PodTemplateSpec): FieldError[] {
  const labels = template.metadata?.labels;
  // A missing selector selects nothing; an empty selector selects everything.
  const matches = selector !== undefined && (selectorIsEmpty(selector) || selectorMatches(selector, labels));
  if (matches) return [];
  const detail = '`selector` does not match template `labels`';
  return [fieldError.invalid(`${TEMPLATE}.metadata.labels`, sortedLabels(labels), detail)];
}

export function validateRunsForever(template: PodTemplateSpec, kind: string): FieldError[] {
  const { restartPolicy, activeDeadlineSeconds } = template.spec ?? {};
  return [
    ...(restartPolicy === 'Always'
      ? []
      : [fieldError.notSupported(`${TEMPLATE}.spec.restartPolicy`, restartPolicy, ['Always'])]),
    ...(activeDeadlineSeconds === undefined
      ? []
      : [
          fieldError.forbidden(
            `${TEMPLATE}.spec.activeDeadlineSeconds`,
            `activeDeadlineSeconds in ${kind} is not Supported`,
          ),
        ]),
  ];
}

/** If the selector is invalid, other errors are not reported. */
const isBroken = (selector: LabelSelector | undefined): boolean =>
  validateLabelSelector(selector, SELECTOR).length > 0;

function validateReplicaTemplate(
  selector: LabelSelector | undefined,
  template: PodTemplateSpec,
): FieldError[] {
  if (isBroken(selector))
    return [fieldError.invalid(SELECTOR, printableSelector(selector), 'invalid label selector')];
  return [
    ...validateSelected(selector, template),
    ...validatePodTemplate(template, TEMPLATE),
    ...validateRunsForever(template, 'ReplicaSet'),
  ];
}

const immutableSelector = (
  selector: LabelSelector | undefined,
  old: LabelSelector | undefined,
): FieldError[] =>
  semanticallyEqual(selector, old)
    ? []
    : [fieldError.invalid(SELECTOR, printableSelector(selector), IMMUTABLE)];

export function validateDeployment({ spec }: Deployment): FieldError[] {
  const { progressDeadlineSeconds: deadline, minReadySeconds = 0, template = {} } = spec;
  return [
    ...nonNegative('spec.replicas', spec.replicas),
    ...validateSelector(spec.selector, 'deployment'),
    ...validateReplicaTemplate(spec.selector, template),
    ...validateDeploymentStrategy(spec.strategy ?? {}, 'spec.strategy'),
    ...nonNegative('spec.minReadySeconds', minReadySeconds),
    ...nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
    ...nonNegative('spec.progressDeadlineSeconds', deadline),
    ...(deadline !== undefined && deadline <= minReadySeconds
      ? [fieldError.invalid('spec.progressDeadlineSeconds', deadline, 'must be greater than minReadySeconds')]
      : []),
  ];
}

export const validateDeploymentUpdate = ({ spec }: Deployment, old: Deployment): FieldError[] =>
  immutableSelector(spec.selector, old.spec.selector);

export const validateReplicaSet = ({ spec }: ReplicaSet): FieldError[] => [
  ...nonNegative('spec.replicas', spec.replicas),
  ...nonNegative('spec.minReadySeconds', spec.minReadySeconds),
  ...validateSelector(spec.selector, 'deployment'),
  ...validateReplicaTemplate(spec.selector, spec.template ?? {}),
];

export const validateReplicaSetUpdate = ({ spec }: ReplicaSet, old: ReplicaSet): FieldError[] =>
  immutableSelector(spec.selector, old.spec.selector);

export function validateDaemonSet({ spec }: DaemonSet): FieldError[] {
  const { selector, template = {} } = spec;
  return [
    ...validateLabelSelector(selector, SELECTOR),
    ...(isBroken(selector) ? [] : validateSelected(selector, template)),
    ...(selector !== undefined && selectorIsEmpty(selector)
      ? [fieldError.invalid(SELECTOR, selector, 'empty selector is invalid for daemonset')]
      : []),
    ...validatePodTemplate(template, TEMPLATE),
    ...validateRunsForever(template, 'DaemonSet'),
    ...nonNegative('spec.minReadySeconds', spec.minReadySeconds),
    ...validateDaemonSetStrategy(spec.updateStrategy ?? {}, 'spec.updateStrategy'),
    ...nonNegative('spec.revisionHistoryLimit', spec.revisionHistoryLimit),
  ];
}

export const validateDaemonSetUpdate = ({ spec }: DaemonSet, old: DaemonSet): FieldError[] =>
  immutableSelector(spec.selector, old.spec.selector);

export function validateStatefulSet({ spec }: StatefulSet): FieldError[] {
  const { podManagementPolicy = '', serviceName = '', template = {} } = spec;
  const retention = spec.persistentVolumeClaimRetentionPolicy ?? {};
  const policies = ['Retain', 'Delete'];
  return [
    ...(['OrderedReady', 'Parallel'].includes(podManagementPolicy)
      ? []
      : [
          fieldError.invalid(
            'spec.podManagementPolicy',
            podManagementPolicy,
            "must be 'OrderedReady' or 'Parallel'",
          ),
        ]),
    ...validateStatefulSetStrategy(spec),
    ...oneOf('spec.persistentVolumeClaimRetentionPolicy.whenDeleted', retention.whenDeleted, policies),
    ...oneOf('spec.persistentVolumeClaimRetentionPolicy.whenScaled', retention.whenScaled, policies),
    ...validateClaims(spec),
    ...nonNegative('spec.replicas', spec.replicas),
    ...nonNegative('spec.minReadySeconds', spec.minReadySeconds),
    ...nonNegative('spec.ordinals.start', spec.ordinals?.start),
    ...(serviceName === '' ? [] : named('spec.serviceName', serviceName, isDNS1123Label(serviceName))),
    ...validateSelector(spec.selector, 'statefulset'),
    ...(isBroken(spec.selector)
      ? [fieldError.invalid(SELECTOR, spec.selector, '')]
      : [...validateSelected(spec.selector, template), ...validatePodTemplate(withClaims(spec), TEMPLATE)]),
    ...validateRunsForever(template, 'StatefulSet'),
  ];
}

function validateStatefulSetStrategy({ updateStrategy = {} }: StatefulSet['spec']): FieldError[] {
  const { type = '', rollingUpdate } = updateStrategy;
  const path = 'spec.updateStrategy';
  if (type === 'RollingUpdate') {
    return [
      ...nonNegative(`${path}.rollingUpdate.partition`, rollingUpdate?.partition),
      ...(rollingUpdate?.maxUnavailable === undefined
        ? []
        : intOrPercent(`${path}.rollingUpdate.maxUnavailable`, rollingUpdate.maxUnavailable)),
    ];
  }
  if (type === 'OnDelete') {
    if (rollingUpdate === undefined) return [];
    const printed = {
      Partition: rollingUpdate.partition ?? 0,
      MaxUnavailable: rollingUpdate.maxUnavailable ?? null,
    };
    const detail = "only allowed for updateStrategy 'RollingUpdate'";
    return [fieldError.invalid(`${path}.rollingUpdate`, printed, detail)];
  }
  const printed = { Type: type, RollingUpdate: rollingUpdate ?? null };
  return [fieldError.invalid(path, printed, "must be 'RollingUpdate' or 'OnDelete'")];
}

const validateClaims = (spec: StatefulSet['spec']): FieldError[] =>
  each('spec.volumeClaimTemplates', spec.volumeClaimTemplates, ({ spec: claim = {} }, at) => [
    ...((claim.accessModes ?? []).length === 0
      ? [fieldError.required(`${at}.spec.accessModes`, 'at least 1 access mode is required')]
      : []),
    ...(claim.resources?.requests?.storage === undefined
      ? [fieldError.required(`${at}.spec.resources[storage]`)]
      : []),
  ]);

/** The template of the pods: with a volume for each volumeClaimTemplate, and without generated names. */
function withClaims(spec: StatefulSet['spec']): PodTemplateSpec {
  const { template = {}, volumeClaimTemplates = [] } = spec;
  const names = volumeClaimTemplates.map((claim) => claim.metadata?.name ?? '');
  const claimed: Volume[] = names.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const own = (template.spec?.volumes ?? []).filter((volume) => !names.includes(volume.name ?? ''));
  const { hostname: _, subdomain: __, ...pod } = template.spec ?? {};
  return { ...template, spec: { ...pod, volumes: [...claimed, ...own] } };
}

const CHANGEABLE = new Set([
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]);

export function validateStatefulSetUpdate({ spec }: StatefulSet, old: StatefulSet): FieldError[] {
  const fixed = (from: StatefulSet['spec']): object =>
    Object.fromEntries(Object.entries(from).filter(([field]) => !CHANGEABLE.has(field)));
  if (semanticallyEqual(fixed(spec), fixed(old.spec))) return [];
  return [
    fieldError.forbidden(
      'spec',
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ),
  ];
}
