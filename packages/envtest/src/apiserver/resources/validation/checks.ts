/** Short words for what validators say again and again. */
import { type FieldError, fieldError } from '@tidegate/serving';
import { NON_NEGATIVE, rangeMessage } from './names.ts';

export const MAX_INT32 = 2 ** 31 - 1;

/** One error for each message of a name rule. */
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

/** A word out of a list; absent is an error of its own. */
export const oneOf = (path: string, value: string | undefined, allowed: readonly string[]): FieldError[] =>
  value === undefined || value === '' ? [fieldError.required(path)] : supported(path, value, allowed);

/** A word out of a list, if it is there at all. */
export const supported = (
  path: string,
  value: string | undefined,
  allowed: readonly string[],
): FieldError[] =>
  value === undefined || allowed.includes(value) ? [] : [fieldError.notSupported(path, value, allowed)];

/** Calls `check` for each item, with the item's path. */
export const each = <T>(
  path: string,
  items: readonly T[] | undefined,
  check: (item: T, path: string, index: number) => FieldError[],
): FieldError[] => (items ?? []).flatMap((item, i) => check(item, `${path}[${i}]`, i));
