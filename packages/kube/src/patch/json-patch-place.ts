/** One location in a document: the field of a map, or the item of a list. */
import { isJsonMap, type JsonMap, ownField, setField } from '../base/json.ts';

/**
 * `rfc6902` follows the RFC. `kubernetes` follows the library inside kube-apiserver, which is more lenient: `replace` adds a
 * field that does not exist, `test` against null holds for a missing field, a missing `value` is null, and a negative
 * index counts from the end of the list. It is stricter in one point: it rejects `add` on the whole document.
 */
export type JsonPatchDialect = 'rfc6902' | 'kubernetes';

export type PlaceProblem = 'not found' | 'not an index' | 'index out of range';

/** Its parents are copies that belong to the running patch, so it may be changed in place. */
export interface Place {
  readonly step: string;
  /** Undefined when the parent is a map. */
  readonly length: number | undefined;
  /** Why there is nothing to read here; undefined when there is. */
  missing(): PlaceProblem | undefined;
  /** Undefined for a field that does not exist. */
  read(): unknown;
  /** Sets a field, or inserts an item. */
  add(value: unknown): PlaceProblem | undefined;
  replace(value: unknown): void;
  remove(): void;
  /** How many items of a list `add` or `remove` shift. */
  readonly shifts: number;
}

export const placeIn = (parent: JsonMap | unknown[], step: string, dialect: JsonPatchDialect): Place =>
  Array.isArray(parent) ? itemPlace(parent, step, dialect) : fieldPlace(parent, step);

function fieldPlace(map: JsonMap, name: string): Place {
  const write = (value: unknown): undefined => {
    setField(map, name, value);
  };
  return {
    step: name,
    length: undefined,
    shifts: 0,
    missing: () => (ownField(map, name) === undefined ? 'not found' : undefined),
    read: () => ownField(map, name),
    add: write,
    replace: write,
    remove: () => {
      delete map[name];
    },
  };
}

function itemPlace(list: unknown[], step: string, dialect: JsonPatchDialect): Place {
  const index = indexIn(step, list.length, dialect);
  return {
    step,
    length: list.length,
    shifts: typeof index === 'number' ? list.length - index : 0,
    missing: () => (typeof index === 'number' ? undefined : index),
    read: () => (typeof index === 'number' ? list[index] : undefined),
    add: (value) => {
      const before = step === '-' ? list.length : indexIn(step, list.length + 1, dialect);
      if (typeof before !== 'number') return before;
      list.splice(before, 0, value);
      return undefined;
    },
    replace: (value) => {
      if (typeof index === 'number') list[index] = value;
    },
    remove: () => {
      if (typeof index === 'number') list.splice(index, 1);
    },
  };
}

const INDEX: Record<JsonPatchDialect, RegExp> = { rfc6902: /^(0|[1-9]\d*)$/, kubernetes: /^[+-]?\d+$/ };

function indexIn(
  step: string,
  length: number,
  dialect: JsonPatchDialect,
): number | 'not an index' | 'index out of range' {
  if (!INDEX[dialect].test(step)) return 'not an index';
  const index = Number(step);
  const fromStart = index < 0 ? index + length : index;
  return fromStart < 0 || fromStart >= length ? 'index out of range' : fromStart;
}

/** The map or list at a place; undefined when there is neither. */
export function containerAt(place: Place): JsonMap | unknown[] | undefined {
  const value = place.read();
  return Array.isArray(value) || isJsonMap(value) ? value : undefined;
}
