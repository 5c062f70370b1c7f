/** Validation and formatting of labels and label selectors. */
import { ownField } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { isLabelKey, isLabelValue } from './names.ts';

export interface LabelSelectorRequirement {
  key?: string;
  operator?: string;
  values?: string[];
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export function validateLabels(labels: Record<string, string> | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(labels ?? {})) {
    for (const message of isLabelKey(key)) errors.push(fieldError.invalid(path, key, message));
    for (const message of isLabelValue(value)) errors.push(fieldError.invalid(path, value, message));
  }
  return errors;
}

export function validateLabelSelector(selector: LabelSelector | undefined, path: string): FieldError[] {
  if (selector === undefined) return [];
  return [
    ...validateLabels(selector.matchLabels, `${path}.matchLabels`),
    ...(selector.matchExpressions ?? []).flatMap((requirement, i) =>
      validateRequirement(requirement, `${path}.matchExpressions[${i}]`),
    ),
  ];
}

function validateRequirement(requirement: LabelSelectorRequirement, path: string): FieldError[] {
  const { key = '', operator = '', values = [] } = requirement;
  const errors: FieldError[] = [];
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) {
      errors.push(
        fieldError.required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"),
      );
    }
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) {
      errors.push(
        fieldError.forbidden(
          `${path}.values`,
          "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
      );
    }
  } else errors.push(fieldError.invalid(`${path}.operator`, operator, 'not a valid selector operator'));
  for (const message of isLabelKey(key)) errors.push(fieldError.invalid(`${path}.key`, key, message));
  for (const [i, value] of values.entries()) {
    for (const message of isLabelValue(value))
      errors.push(fieldError.invalid(`${path}.values[${i}]`, value, message));
  }
  return errors;
}

/** kube-apiserver prints maps in sorted order. */
export const sortedLabels = (
  labels: Record<string, string> | undefined,
): Record<string, string> | undefined =>
  labels && Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

export const printableSelector = (selector: LabelSelector | undefined): LabelSelector | undefined =>
  selector && {
    ...(selector.matchLabels && { matchLabels: sortedLabels(selector.matchLabels) }),
    ...(selector.matchExpressions && { matchExpressions: selector.matchExpressions }),
  };

export const selectorIsEmpty = (selector: LabelSelector | undefined): boolean =>
  Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length === 0;

export function selectorMatches(selector: LabelSelector, labels: Record<string, string> = {}): boolean {
  const byLabel = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return byLabel && (selector.matchExpressions ?? []).every((r) => requirementMatches(r, labels));
}

function requirementMatches(requirement: LabelSelectorRequirement, labels: Record<string, string>): boolean {
  const value = ownField(labels, requirement.key ?? '');
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}

/** The format of selectors in most tables. */
export function formatLabelSelector(selector: LabelSelector | undefined): string {
  const text = labelSelectorString(selector);
  return text === '' ? '<none>' : text;
}

/** For example `app=web,tier in (a,b),!old`, sorted by key. */
export function labelSelectorString(selector: LabelSelector | undefined): string {
  const parts: [string, string][] = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => [
    key,
    `${key}=${value}`,
  ]);
  for (const requirement of selector?.matchExpressions ?? []) {
    parts.push([requirement.key ?? '', formatRequirement(requirement)]);
  }
  return parts
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([, text]) => text)
    .join(',');
}

function formatRequirement({ key = '', operator, values = [] }: LabelSelectorRequirement): string {
  const list = [...values].sort().join(',');
  switch (operator) {
    case 'In':
      return `${key} in (${list})`;
    case 'NotIn':
      return `${key} notin (${list})`;
    case 'Exists':
      return key;
    default:
      return `!${key}`;
  }
}

/** Labels as `a=b,c=d`, sorted; `<none>` if there are none. */
export function formatLabels(labels: Record<string, string> | undefined): string {
  const text = Object.entries(labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(',');
  return text === '' ? '<none>' : text;
}
