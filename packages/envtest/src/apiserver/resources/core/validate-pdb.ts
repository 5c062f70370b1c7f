import { type FieldError, fieldError } from '@tidegate/serving';
import { supported } from '../validation/checks.ts';
import { validateLabelSelector } from '../validation/selectors.ts';
import { atMostAll, intOrPercent } from '../workloads/strategy.ts';
import type { PodDisruptionBudget } from './types.ts';

export function validatePodDisruptionBudget({ spec }: PodDisruptionBudget): FieldError[] {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy } = spec;
  const errors: FieldError[] = [];
  if (minAvailable !== undefined && maxUnavailable !== undefined) {
    const shown = {
      MinAvailable: minAvailable,
      Selector: selector ?? null,
      MaxUnavailable: maxUnavailable,
      UnhealthyPodEvictionPolicy: unhealthyPodEvictionPolicy ?? null,
    };
    errors.push(fieldError.invalid('spec', shown, 'minAvailable and maxUnavailable cannot be both set'));
  }
  for (const [field, value] of Object.entries({ minAvailable, maxUnavailable })) {
    if (value === undefined) continue;
    errors.push(...intOrPercent(`spec.${field}`, value), ...atMostAll(`spec.${field}`, value));
  }
  return [
    ...errors,
    ...validateLabelSelector(selector, 'spec.selector'),
    ...supported('spec.unhealthyPodEvictionPolicy', unhealthyPodEvictionPolicy, [
      'AlwaysAllow',
      'IfHealthyBudget',
    ]),
  ];
}
