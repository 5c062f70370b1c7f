/** Validation of requests and limits. */
import { compareQuantities, ownField } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { NON_NEGATIVE } from '../validation/names.ts';
import {
  isExtended,
  isHugePages,
  isOvercommitAllowed,
  isWhole,
  quantityOf,
  validateContainerResourceName,
} from '../validation/resource-names.ts';
import type { ResourceList, ResourceRequirements } from './types.ts';

function validateList(list: ResourceList | undefined, path: string): FieldError[] {
  return Object.entries(list ?? {}).flatMap(([name, text]) => {
    const at = `${path}[${name}]`;
    const quantity = quantityOf(list, name);
    return [
      ...validateContainerResourceName(name, at),
      ...(quantity.nanos < 0n ? [fieldError.invalid(at, text, NON_NEGATIVE)] : []),
      ...(isExtended(name) && !isWhole(quantity) ? [fieldError.invalid(at, text, 'must be an integer')] : []),
    ];
  });
}

export function validateRequirements(
  resources: ResourceRequirements | undefined,
  path: string,
): FieldError[] {
  const { limits, requests = {} } = resources ?? {};
  const errors = validateList(limits, `${path}.limits`);
  errors.push(...validateList(requests, `${path}.requests`));
  for (const [name, text] of Object.entries(requests)) {
    const limit = ownField(limits, name);
    const overcommit = isOvercommitAllowed(name);
    if (limit === undefined) {
      if (!overcommit) {
        errors.push(
          fieldError.required(`${path}.limits`, 'Limit must be set for non overcommitable resources'),
        );
      }
      continue;
    }
    const order = compareQuantities(quantityOf(requests, name), quantityOf(limits, name));
    const wrong = (relation: string): void =>
      void errors.push(
        fieldError.invalid(`${path}.requests`, text, `must be ${relation} ${name} limit of ${limit}`),
      );
    if (order !== 0 && !overcommit) wrong('equal to');
    else if (order > 0) wrong('less than or equal to');
  }
  const names = [...Object.keys(limits ?? {}), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.some((name) => name === 'cpu' || name === 'memory')) {
    errors.push(fieldError.forbidden(path, 'HugePages require cpu or memory'));
  }
  return errors;
}
