/** Validation of ResourceQuotas. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { IMMUTABLE, NON_NEGATIVE } from '../validation/names.ts';
import {
  isExtended,
  isWhole,
  quantityOf,
  type ResourceList,
  validateResourceName,
} from '../validation/resource-names.ts';
import type { ResourceQuota, ResourceQuotaSpec, ScopeRequirement } from './types.ts';

const COUNTS = new Set([
  ...['pods', 'resourcequotas', 'services', 'replicationcontrollers', 'secrets', 'configmaps'],
  ...['persistentvolumeclaims', 'services.nodeports', 'services.loadbalancers'],
]);
const COMPUTE = ['cpu', 'memory', 'limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory'];
const STANDARD_QUOTA = new Set([
  ...COUNTS,
  ...COMPUTE,
  ...['ephemeral-storage', 'requests.ephemeral-storage', 'limits.ephemeral-storage', 'requests.storage'],
]);

const OF_PODS = new Set(['pods', ...COMPUTE]);
const OF_CLAIMS = new Set(['persistentvolumeclaims', 'requests.storage']);

/** The scopes, and the standard resources that can be combined with each. */
const SCOPES = new Map<string, ReadonlySet<string>>([
  ['Terminating', OF_PODS],
  ['NotTerminating', OF_PODS],
  ['BestEffort', new Set(['pods'])],
  ['NotBestEffort', OF_PODS],
  ['PriorityClass', OF_PODS],
  ['CrossNamespacePodAffinity', OF_PODS],
  ['VolumeAttributesClass', OF_CLAIMS],
]);

const CONFLICTS = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
] as const;

const EXISTS_ONLY =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";

export function validateResourceQuota({ spec, status }: ResourceQuota): FieldError[] {
  return [
    ...validateAmounts(spec.hard, 'spec.hard'),
    ...validateScopes(spec),
    ...validateScopeSelector(spec),
    ...validateAmounts(status.hard, 'status.hard'),
    ...validateAmounts(status.used, 'status.used'),
  ];
}

export function validateResourceQuotaUpdate({ spec }: ResourceQuota, old: ResourceQuota): FieldError[] {
  const sorted = (scopes: string[] = []): string => JSON.stringify([...new Set(scopes)].sort());
  return sorted(spec.scopes) === sorted(old.spec.scopes)
    ? []
    : [fieldError.invalid('spec.scopes', spec.scopes ?? null, IMMUTABLE)];
}

export function validateAmounts(list: ResourceList | undefined, path: string): FieldError[] {
  return Object.entries(list ?? {}).flatMap(([name, text]) => {
    const at = `${path}[${name}]`;
    const quantity = quantityOf(list, name);
    const isInteger = COUNTS.has(name) || isExtended(name);
    return [
      ...validateQuotaName(name, at),
      ...(quantity.nanos < 0n ? [fieldError.invalid(at, text, NON_NEGATIVE)] : []),
      ...(isInteger && !isWhole(quantity) ? [fieldError.invalid(at, text, 'must be an integer')] : []),
    ];
  });
}

function validateQuotaName(name: string, path: string): FieldError[] {
  const errors = validateResourceName(name, path);
  if (name.includes('/') || STANDARD_QUOTA.has(name) || name.startsWith('requests.hugepages-')) return errors;
  return [...errors, fieldError.invalid(path, name, 'must be a standard resource for quota')];
}

/** One error for each standard resource of the quota that the scope does not apply to. */
const misapplied = ({ hard = {} }: ResourceQuotaSpec, scope: string): string[] =>
  Object.keys(hard).filter((name) => STANDARD_QUOTA.has(name) && SCOPES.get(scope)?.has(name) === false);

function validateScopes(spec: ResourceQuotaSpec): FieldError[] {
  const { scopes = [] } = spec;
  const wrong = (detail: string): FieldError => fieldError.invalid('spec.scopes', scopes, detail);
  return [
    ...scopes.flatMap((scope) => [
      ...(SCOPES.has(scope) ? [] : [wrong('unsupported scope')]),
      ...misapplied(spec, scope).map(() => wrong('unsupported scope applied to resource')),
    ]),
    ...conflicts(scopes).map(() => wrong('conflicting scopes')),
  ];
}

const conflicts = (scopes: string[]): unknown[] =>
  CONFLICTS.filter((pair) => pair.every((scope) => scopes.includes(scope)));

function validateScopeSelector(spec: ResourceQuotaSpec): FieldError[] {
  const { matchExpressions = [] } = spec.scopeSelector ?? {};
  const path = 'spec.scopeSelector.matchExpressions';
  const names = matchExpressions.map(({ scopeName = '' }) => scopeName);
  const shown = { MatchExpressions: matchExpressions.map(internalRequirement) };
  return [
    ...matchExpressions.flatMap((requirement) => {
      const { scopeName = '' } = requirement;
      return [
        ...(SCOPES.has(scopeName)
          ? []
          : [fieldError.invalid(`${path}.scopeName`, scopeName, 'unsupported scope')]),
        ...misapplied(spec, scopeName).map(() =>
          fieldError.invalid(path, shown, 'unsupported scope applied to resource'),
        ),
        ...validateOperator(requirement, path),
      ];
    }),
    ...conflicts(names).map(() => fieldError.invalid(path, spec.scopes ?? null, 'conflicting scopes')),
  ];
}

const internalRequirement = ({ scopeName = '', operator = '', values }: ScopeRequirement): object => ({
  ScopeName: scopeName,
  Operator: operator,
  Values: values ?? null,
});

function validateOperator(
  { scopeName = '', operator = '', values = [] }: ScopeRequirement,
  path: string,
): FieldError[] {
  const takesValues = scopeName === 'PriorityClass' || scopeName === 'VolumeAttributesClass';
  const errors: FieldError[] = [];
  if (SCOPES.has(scopeName) && !takesValues && operator !== 'Exists') {
    errors.push(fieldError.invalid(`${path}.operator`, operator, EXISTS_ONLY));
  }
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length > 0) return errors;
    const detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
    return [...errors, fieldError.required(`${path}.values`, detail)];
  }
  if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length === 0) return errors;
    const detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
    return [...errors, fieldError.invalid(`${path}.values`, values, detail)];
  }
  return [...errors, fieldError.invalid(`${path}.operator`, operator, 'not a valid selector operator')];
}
