/** Validation of environment variables and their references. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { each, named, required } from '../validation/checks.ts';
import {
  isConfigKey,
  isDNS1123Subdomain,
  isEnvVarName,
  isLabelKey,
  nameIsSubdomain,
} from '../validation/names.ts';
import type {
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  FieldRef,
  KeySelector,
  ResourceFieldRef,
} from './types.ts';

const ENV_FIELDS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
export const VOLUME_FIELDS = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
/** All fields that the downward API defines, whether or not they are allowed here. */
const KNOWN_FIELDS = new Set([
  ...ENV_FIELDS,
  ...VOLUME_FIELDS,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);
const RESOURCES = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

export const validateEnv = (env: EnvVar[] | undefined, path: string): FieldError[] =>
  each(path, env, (variable, at) => {
    const { name = '' } = variable;
    return [
      ...(name === '' ? [fieldError.required(`${at}.name`)] : named(`${at}.name`, name, isEnvVarName(name))),
      ...(variable.valueFrom ? validateSource(variable.valueFrom, variable.value, `${at}.valueFrom`) : []),
    ];
  });

function validateSource(source: EnvVarSource, value: string | undefined, path: string): FieldError[] {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  const errors: FieldError[] = [];
  if (fieldRef) errors.push(...validateFieldRef(fieldRef, ENV_FIELDS, `${path}.fieldRef`));
  if (resourceFieldRef)
    errors.push(...validateResourceRef(resourceFieldRef, false, `${path}.resourceFieldRef`));
  if (configMapKeyRef) errors.push(...validateKeySelector(configMapKeyRef, `${path}.configMapKeyRef`));
  if (secretKeyRef) errors.push(...validateKeySelector(secretKeyRef, `${path}.secretKeyRef`));
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(
    Boolean,
  ).length;
  const wrong = (detail: string): void => void errors.push(fieldError.invalid(path, '', detail));
  if (sources === 0) {
    wrong(
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  } else if (value) wrong('may not be specified when `value` is not empty');
  else if (sources > 1) wrong('may not have more than one field specified at a time');
  return errors;
}

export function validateFieldRef(ref: FieldRef, allowed: readonly string[], path: string): FieldError[] {
  const { apiVersion = '', fieldPath = '' } = ref;
  if (apiVersion === '') return [fieldError.required(`${path}.apiVersion`)];
  if (fieldPath === '') return [fieldError.required(`${path}.fieldPath`)];
  const bad = (why: string): FieldError[] => [
    fieldError.invalid(`${path}.fieldPath`, fieldPath, `error converting fieldPath: ${why}`),
  ];
  if (apiVersion !== 'v1') return bad(`unsupported pod version: ${apiVersion}`);
  const subscripted = /^(.*)\['(.*)'\]$/.exec(fieldPath);
  if (subscripted !== null) {
    const [, map = '', key = ''] = subscripted;
    if (map === 'metadata.annotations') return named(path, key, isLabelKey(key.toLowerCase()));
    if (map === 'metadata.labels') return named(path, key, isLabelKey(key));
    return bad(`field label does not support subscript: ${fieldPath}`);
  }
  if (!KNOWN_FIELDS.has(fieldPath)) return bad(`field label not supported: ${fieldPath}`);
  return allowed.includes(fieldPath)
    ? []
    : [fieldError.notSupported(`${path}.fieldPath`, fieldPath, allowed)];
}

export function validateResourceRef(ref: ResourceFieldRef, inVolume: boolean, path: string): FieldError[] {
  const { containerName = '', resource = '' } = ref;
  if (inVolume && containerName === '') return [fieldError.required(`${path}.containerName`)];
  if (resource === '') return [fieldError.required(`${path}.resource`)];
  const hugePages = /^(limits|requests)\.hugepages-/.test(resource);
  return RESOURCES.includes(resource) || hugePages
    ? []
    : [fieldError.notSupported(`${path}.resource`, resource, RESOURCES)];
}

function validateKeySelector({ name = '', key = '' }: KeySelector, path: string): FieldError[] {
  return [
    ...named(`${path}.name`, name, isDNS1123Subdomain(name)),
    ...(key === '' ? [fieldError.required(`${path}.key`)] : named(`${path}.key`, key, isConfigKey(key))),
  ];
}

export const validateEnvFrom = (sources: EnvFromSource[] | undefined, path: string): FieldError[] =>
  each(path, sources, ({ prefix = '', configMapRef, secretRef }, at) => {
    const errors = prefix === '' ? [] : named(`${at}.prefix`, prefix, isEnvVarName(prefix));
    for (const [field, ref] of Object.entries({ configMapRef, secretRef })) {
      if (ref === undefined) continue;
      const { name = '' } = ref;
      errors.push(...required(`${at}.${field}.name`, name));
      if (name !== '') errors.push(...named(`${at}.${field}.name`, name, nameIsSubdomain(name, true)));
    }
    if (!configMapRef && !secretRef) {
      errors.push(fieldError.invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`'));
    } else if (configMapRef && secretRef) {
      errors.push(fieldError.invalid(path, '', 'may not have more than one field specified at a time'));
    }
    return errors;
  });
