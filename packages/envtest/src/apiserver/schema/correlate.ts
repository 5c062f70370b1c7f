/**
 * Finds the old counterpart of a value in an update. Fields and map entries correspond by name, and items of lists of
 * type map by their keys. Items of other lists have no identity. Ratcheting and transition rules depend on this.
 */
import { ownField, setField } from '@tidegate/kube';
import type { Schema } from './types.ts';

/** The old value of a field; undefined if the old object does not have it. */
export function oldField(old: unknown, key: string): unknown {
  if (typeof old !== 'object' || old === null || Array.isArray(old)) return undefined;
  return Object.hasOwn(old, key) ? (old as Record<string, unknown>)[key] : undefined;
}

/** A lookup of the old items of a list. */
export function oldItems(old: unknown, schema: Schema): (item: unknown) => unknown {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (!Array.isArray(old) || schema['x-kubernetes-list-type'] !== 'map' || keys === undefined) {
    return () => undefined;
  }
  const byKey = new Map(old.map((item) => [itemKey(item, keys, schema.items), item]));
  return (item) => byKey.get(itemKey(item, keys, schema.items));
}

/** The identity of an item: the values of its keys, including defaults. */
export function itemKey(item: unknown, keys: readonly string[], items: Schema | undefined): string {
  return JSON.stringify(itemKeyValues(item, keys, items));
}

export function itemKeyValues(
  item: unknown,
  keys: readonly string[],
  items: Schema | undefined,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const key of keys) {
    const value = oldField(item, key) ?? ownField(items?.properties, key)?.default;
    if (value !== undefined) setField(values, key, value);
  }
  return values;
}
