/** Validation of LimitRanges. */
import { compareQuantities, formatQuantity, parseQuantity, type Quantity } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { each } from '../validation/checks.ts';
import { isLabelKey } from '../validation/names.ts';
import {
  isOvercommitAllowed,
  type ResourceList,
  validateContainerResourceName,
  validateResourceName,
} from '../validation/resource-names.ts';
import type { LimitRange, LimitRangeItem } from './types.ts';

const TYPES = new Set(['Pod', 'Container', 'PersistentVolumeClaim']);
const ONE: Quantity = { nanos: 1_000_000_000n, format: 'decimal' };

export function validateLimitRange({ spec }: LimitRange): FieldError[] {
  const seen = new Set<string>();
  return each('spec.limits', spec.limits ?? [], (item, path) => {
    const { type = '' } = item;
    const errors = [
      ...validateType(type, `${path}.type`),
      ...(seen.has(type) ? [fieldError.duplicate(`${path}.type`, type)] : []),
    ];
    seen.add(type);
    return [...errors, ...validateItem(item, type, path)];
  });
}

function validateType(type: string, path: string): FieldError[] {
  const errors = isLabelKey(type).map((message) => fieldError.invalid(path, type, message));
  if (errors.length > 0 || type.includes('/') || TYPES.has(type)) return errors;
  return [fieldError.invalid(path, type, 'must be a standard limit type or fully qualified')];
}

function validateItem(item: LimitRangeItem, type: string, path: string): FieldError[] {
  const { max, min, maxLimitRequestRatio: ratio } = item;
  const names = (list: ResourceList | undefined, field: string): FieldError[] =>
    Object.keys(list ?? {}).flatMap((name) => {
      const at = `${path}.${field}[${name}]`;
      const ofContainers = type === 'Pod' || type === 'Container';
      return ofContainers ? validateContainerResourceName(name, at) : validateResourceName(name, at);
    });
  const hasStorage = min?.storage !== undefined || max?.storage !== undefined;
  const amounts = type === 'Pod' ? { max, min, maxLimitRequestRatio: ratio } : item;
  return [
    ...names(max, 'max'),
    ...names(min, 'min'),
    ...(['default', 'defaultRequest'] as const).flatMap((field) => {
      if (type !== 'Pod') return names(item[field], field);
      if (Object.keys(item[field] ?? {}).length === 0) return [];
      return [fieldError.forbidden(`${path}.${field}`, "may not be specified when `type` is 'Pod'")];
    }),
    ...(type === 'PersistentVolumeClaim' && !hasStorage
      ? [
          fieldError.required(
            `${path}.limits`,
            'either minimum or maximum storage value is required, but neither was provided',
          ),
        ]
      : []),
    ...names(ratio, 'maxLimitRequestRatio'),
    ...[
      ...new Set(
        [max, min, amounts.default, amounts.defaultRequest, ratio].flatMap((list) => Object.keys(list ?? {})),
      ),
    ].flatMap((name) => validateOrder(name, amounts, path)),
  ];
}

/** The amounts of one resource must be in order: min, default request, default limit, max. */
function validateOrder(name: string, item: LimitRangeItem, path: string): FieldError[] {
  const amount = (list: ResourceList | undefined): Quantity | undefined =>
    Object.hasOwn(list ?? {}, name) ? parseQuantity(String(list?.[name])) : undefined;
  const [min, max] = [amount(item.min), amount(item.max)];
  const [limit, request] = [amount(item.default), amount(item.defaultRequest)];
  const ratio = amount(item.maxLimitRequestRatio);
  const errors: FieldError[] = [];
  const wrong = (field: keyof LimitRangeItem, value: Quantity, detail: string): void => {
    errors.push(fieldError.invalid(`${path}.${field}[${name}]`, formatQuantity(value), detail));
  };
  const inOrder = (
    low: [Quantity | undefined, string],
    high: [Quantity | undefined, string],
    field: keyof LimitRangeItem,
    shown: Quantity | undefined,
  ): void => {
    if (low[0] === undefined || high[0] === undefined || shown === undefined) return;
    if (compareQuantities(low[0], high[0]) <= 0) return;
    wrong(
      field,
      shown,
      `${low[1]} ${formatQuantity(low[0])} is greater than ${high[1]} ${formatQuantity(high[0])}`,
    );
  };
  inOrder([min, 'min value'], [max, 'max value'], 'min', min);
  inOrder([min, 'min value'], [request, 'default request value'], 'defaultRequest', request);
  inOrder([request, 'default request value'], [max, 'max value'], 'defaultRequest', request);
  inOrder([request, 'default request value'], [limit, 'default limit value'], 'defaultRequest', request);
  inOrder([min, 'min value'], [limit, 'default value'], 'default', min);
  inOrder([limit, 'default value'], [max, 'max value'], 'default', max);
  if (ratio !== undefined) {
    if (compareQuantities(ratio, ONE) < 0) {
      wrong('maxLimitRequestRatio', ratio, `ratio ${formatQuantity(ratio)} is less than 1`);
    }
    if (min !== undefined && max !== undefined) {
      const possible = Number(max.nanos) / Number(min.nanos);
      if (Number(ratio.nanos) / 1e9 > possible) {
        const detail = `ratio ${formatQuantity(ratio)} is greater than max/min = ${possible.toFixed(6)}`;
        wrong('maxLimitRequestRatio', ratio, detail);
      }
    }
  }
  const differ = limit !== undefined && request !== undefined && compareQuantities(limit, request) !== 0;
  if (differ && !isOvercommitAllowed(name)) {
    const detail = `default value ${formatQuantity(limit)} must equal to defaultRequest value ${formatQuantity(request)} in ${name}`;
    wrong('defaultRequest', request, detail);
  }
  return errors;
}
