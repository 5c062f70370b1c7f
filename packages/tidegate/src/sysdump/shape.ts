/** Shapes: allow-lists of the fields that leave the cluster. Everything that a shape does not name is removed. */
import { isJsonMap } from '@tidegate/kube';
import { isCredentialName, REDACTED, redactText } from './redact-text.ts';

/** `keep` is for a scalar, or a list of scalars. A shape of fields also applies to each item of a list. */
export type Shape = 'keep' | Fields | ((value: unknown) => unknown);
export interface Fields {
  readonly [field: string]: Shape;
}

/** A shape that keeps these fields, separated by spaces, and those of `more`. */
export const fields = (names: string, more: Fields = {}): Fields => ({
  ...Object.fromEntries(
    names
      .split(' ')
      .filter(Boolean)
      .map((name) => [name, 'keep'] as const),
  ),
  ...more,
});

/** What the shape keeps of the value. Fields that are removed stay visible, so that a reader sees that they were set. */
export function applyShape(shape: Shape, value: unknown): unknown {
  if (typeof shape === 'function') return shape(value);
  if (Array.isArray(value)) return value.map((item) => applyShape(shape, item));
  if (shape === 'keep') return keep(value);
  if (!isJsonMap(value)) return value === null || value === undefined ? value : REDACTED;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      Object.hasOwn(shape, key) ? applyShape(shape[key] ?? skeleton, field) : REDACTED,
    ]),
  );
}

function keep(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  return typeof value === 'object' && value !== null ? REDACTED : value;
}

/** A map whose keys users choose, and whose values cannot be credentials unless the key has such a name, for example labels. */
export const mapOf =
  (shape: Shape) =>
  (value: unknown): unknown =>
    isJsonMap(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, field]) => [
            key,
            isCredentialName(key) ? REDACTED : applyShape(shape, field),
          ]),
        )
      : REDACTED;

/** The names of the fields, without any value. */
export function skeleton(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(skeleton);
  if (!isJsonMap(value)) return REDACTED;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, skeleton(field)]));
}
