/**
 * A problem with one field, in the words of kube-apiserver: `spec.replicas: Invalid value: -1: must be ...`.
 * Validators return lists of these; `invalid()` in api-error.ts turns a list into one 422 Status.
 */
import { quoteText } from './go-quote.ts';

export type FieldErrorReason =
  | 'FieldValueNotFound'
  | 'FieldValueRequired'
  | 'FieldValueDuplicate'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

/** One problem of one field. A validation returns all problems, not only the first. */
export interface FieldError {
  reason: FieldErrorReason;
  /** The path in the notation that users write: `spec.rules[0].host`, `metadata.labels`. */
  field: string;
  /** The text after the path: `Invalid value: "x": must be ...`. */
  body: string;
}

/** The complete message: the path and the text. */
export const fieldErrorMessage = (e: FieldError): string =>
  e.field === '' ? e.body : `${e.field}: ${e.body}`;

/** Formats a value like kube-apiserver: strings quoted, numbers and booleans bare, everything else as JSON of Go. */
export function printValue(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return typeof value === 'string' ? quoteText(value) : printJson(value);
}

/** JSON in the form that Go writes, which escapes characters that are special in HTML. */
export const printJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

const withDetail = (head: string, detail: string): string => (detail === '' ? head : `${head}: ${detail}`);

/** The kinds of field errors of Kubernetes (`k8s.io/apimachinery/pkg/util/validation/field`), with its wording. */
export const fieldError = {
  required: (field: string, detail = ''): FieldError => ({
    reason: 'FieldValueRequired',
    field,
    body: withDetail('Required value', detail),
  }),
  invalid: (field: string, value: unknown, detail: string): FieldError => ({
    reason: 'FieldValueInvalid',
    field,
    body: withDetail(`Invalid value: ${printValue(value)}`, detail),
  }),
  duplicate: (field: string, value: unknown): FieldError => ({
    reason: 'FieldValueDuplicate',
    field,
    body: `Duplicate value: ${printValue(value)}`,
  }),
  notSupported: (field: string, value: unknown, allowed: readonly string[]): FieldError => ({
    reason: 'FieldValueNotSupported',
    field,
    body: withDetail(
      `Unsupported value: ${printValue(value)}`,
      allowed.length === 0 ? '' : `supported values: ${allowed.map((v) => JSON.stringify(v)).join(', ')}`,
    ),
  }),
  forbidden: (field: string, detail: string): FieldError => ({
    reason: 'FieldValueForbidden',
    field,
    body: withDetail('Forbidden', detail),
  }),
  notFound: (field: string, value: unknown): FieldError => ({
    reason: 'FieldValueNotFound',
    field,
    body: `Not found: ${printValue(value)}`,
  }),
  /** The value is not repeated, because it may be huge. */
  tooLong: (field: string, maxBytes: number): FieldError => ({
    reason: 'FieldValueTooLong',
    field,
    body: `Too long: may not be more than ${maxBytes} bytes`,
  }),
  tooMany: (field: string, actual: number, max: number): FieldError => ({
    reason: 'FieldValueTooMany',
    field,
    body: `Too many: ${actual}: must have at most ${max} items`,
  }),
  typeInvalid: (field: string, value: unknown, detail: string): FieldError => ({
    reason: 'FieldValueTypeInvalid',
    field,
    body: withDetail(`Invalid value: ${printValue(value)}`, detail),
  }),
  internal: (field: string, detail: string): FieldError => ({
    reason: 'InternalError',
    field,
    body: withDetail('Internal error', detail),
  }),
} as const;
