/** Helpers for checks that many kinds share. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { NON_NEGATIVE, rangeMessage } from './names.ts';

export const MAX_INT32 = 2 ** 31 - 1;

/** Creates an error for each message of a name rule. */
export const named = (path: string, value: string, messages: string[]): FieldError[] =>
  messages.map((message) => fieldError.invalid(path, value, message));

export const required = (path: string, value: string | undefined): FieldError[] =>
  value === undefined || value === '' ? [fieldError.required(path)] : [];

export const nonNegative = (path: string, value: number | undefined): FieldError[] =>
  value !== undefined && value < 0 ? [fieldError.invalid(path, value, NON_NEGATIVE)] : [];

export const positive = (path: string, value: number | undefined): FieldError[] =>
  (value ?? 0) <= 0 ? [fieldError.invalid(path, value ?? 0, 'must be greater than zero')] : [];

export const inRange = (path: string, value: number | undefined, low: number, high: number): FieldError[] =>
  value !== undefined && (value < low || value > high)
    ? [fieldError.invalid(path, value, rangeMessage(low, high))]
    : [];

/** The value must be one of `allowed`. A missing value is a separate error. */
export const oneOf = (path: string, value: string | undefined, allowed: readonly string[]): FieldError[] =>
  value === undefined || value === '' ? [fieldError.required(path)] : supported(path, value, allowed);

/** The value must be one of `allowed` if it is set. */
export const supported = (
  path: string,
  value: string | undefined,
  allowed: readonly string[],
): FieldError[] =>
  value === undefined || allowed.includes(value) ? [] : [fieldError.notSupported(path, value, allowed)];

/** Calls `check` for each item with the path of the item. */
export const each = <T>(
  path: string,
  items: readonly T[] | undefined,
  check: (item: T, path: string, index: number) => FieldError[],
): FieldError[] => (items ?? []).flatMap((item, i) => check(item, `${path}[${i}]`, i));
