/** Validation of update strategies: how many pods may be unavailable or surplus during a rollout. */
import { type FieldError, fieldError } from '@tidegate/serving';
import type { IntOrString } from '../pod/types.ts';
import { nonNegative } from '../validation/checks.ts';
import { isPercent } from '../validation/names.ts';
import type { RollingUpdate, UpdateStrategy } from './types.ts';

export function intOrPercent(path: string, value: IntOrString): FieldError[] {
  if (typeof value === 'number') return nonNegative(path, value);
  return isPercent(value).map((message) => fieldError.invalid(path, value, message));
}

const amount = (value: IntOrString | undefined): number =>
  typeof value === 'string' ? Number.parseInt(value, 10) || 0 : (value ?? 0);

export const atMostAll = (path: string, value: IntOrString): FieldError[] =>
  typeof value === 'string' && isPercent(value).length === 0 && amount(value) > 100
    ? [fieldError.invalid(path, value, 'must not be greater than 100%')]
    : [];

/** As kube-apiserver prints it: with Go field names. */
const printed = ({ type = '', rollingUpdate }: UpdateStrategy): object => ({
  Type: type,
  RollingUpdate:
    rollingUpdate === undefined
      ? null
      : { MaxUnavailable: rollingUpdate.maxUnavailable ?? 0, MaxSurge: rollingUpdate.maxSurge ?? 0 },
});

export function validateDeploymentStrategy(strategy: UpdateStrategy, path: string): FieldError[] {
  const { type, rollingUpdate } = strategy;
  if (type === 'Recreate') {
    const detail = "may not be specified when strategy `type` is 'Recreate'";
    return rollingUpdate === undefined ? [] : [fieldError.forbidden(`${path}.rollingUpdate`, detail)];
  }
  if (type !== 'RollingUpdate') {
    return [fieldError.notSupported(path, printed(strategy), ['Recreate', 'RollingUpdate'])];
  }
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const at = `${path}.rollingUpdate`;
  return [
    ...intOrPercent(`${at}.maxUnavailable`, maxUnavailable),
    ...intOrPercent(`${at}.maxSurge`, maxSurge),
    ...(amount(maxUnavailable) === 0 && amount(maxSurge) === 0
      ? [fieldError.invalid(`${at}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0')]
      : []),
    ...atMostAll(`${at}.maxUnavailable`, maxUnavailable),
  ];
}

export function validateDaemonSetStrategy(strategy: UpdateStrategy, path: string): FieldError[] {
  if (strategy.type === 'OnDelete') return [];
  if (strategy.type !== 'RollingUpdate') {
    return [fieldError.notSupported(path, printed(strategy), ['RollingUpdate', 'OnDelete'])];
  }
  return validateDaemonSetRollingUpdate(strategy.rollingUpdate ?? {}, `${path}.rollingUpdate`);
}

function validateDaemonSetRollingUpdate(update: RollingUpdate, path: string): FieldError[] {
  const { maxUnavailable = 0, maxSurge = 0 } = update;
  const errors = [
    ...intOrPercent(`${path}.maxUnavailable`, maxUnavailable),
    ...intOrPercent(`${path}.maxSurge`, maxSurge),
    ...atMostAll(`${path}.maxUnavailable`, maxUnavailable),
    ...atMostAll(`${path}.maxSurge`, maxSurge),
  ];
  const missing = amount(maxUnavailable) !== 0;
  const extra = amount(maxSurge) !== 0;
  if (missing && extra) {
    errors.push(
      fieldError.invalid(`${path}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero'),
    );
  } else if (!missing && !extra) {
    errors.push(fieldError.required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0'));
  }
  return errors;
}
