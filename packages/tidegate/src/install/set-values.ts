import { isJsonMap, type JsonMap } from '@tidegate/kube';
import { parse } from 'yaml';
import { InstallError } from './error.ts';
import type { ValueDefinition } from './values.ts';

/** Values as a tree, as in values.yaml. */
export type Values = JsonMap;

export const defaultValues = (definitions: readonly ValueDefinition[]): Values => {
  const values: Values = {};
  for (const definition of definitions)
    setAt(values, definition.path.split('.'), structuredClone(definition.default));
  return values;
};

/** The value at a path, or undefined. */
export function valueAt(values: Values, path: string): unknown {
  let found: unknown = values;
  for (const name of path.split('.'))
    found = isJsonMap(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  return found;
}

/**
 * Applies settings of the form `path=value` to a copy of the values. The value is YAML, so that `true`, `3` and `{a: b}`
 * have their types. Maps are merged with their default, because Helm does so and the chart has the same values. Throws an InstallError that names the setting and what to write.
 */
export function withSettings(
  definitions: readonly ValueDefinition[],
  base: Values,
  settings: readonly string[],
): Values {
  const values = structuredClone(base);
  for (const setting of settings) {
    const equals = setting.indexOf('=');
    if (equals < 1)
      throw new InstallError(`--set ${setting}: use PATH=VALUE, for example replicas.admission=3`);
    const path = setting.slice(0, equals);
    const definition = definitions.find((each) => each.path === path);
    if (definition === undefined) throw new InstallError(`--set ${path}: ${unknownValue(definitions, path)}`);
    setAt(values, path.split('.'), merged(definition, parsed(definition, setting.slice(equals + 1))));
  }
  checkValues(definitions, values);
  return values;
}

/** Values that were stored by another version: those that still exist, over the defaults. */
export function withStored(definitions: readonly ValueDefinition[], stored: Values): Values {
  const values = defaultValues(definitions);
  for (const { path } of definitions) {
    const before = valueAt(stored, path);
    if (before !== undefined) setAt(values, path.split('.'), structuredClone(before));
  }
  return values;
}

/** What differs from the defaults: only that is stored, so that a new version can bring better defaults. */
export function changedValues(definitions: readonly ValueDefinition[], values: Values): Values {
  const changed: Values = {};
  for (const { path, default: fallback } of definitions) {
    const value = valueAt(values, path);
    if (JSON.stringify(value) !== JSON.stringify(fallback)) setAt(changed, path.split('.'), value);
  }
  return changed;
}

/** Throws an InstallError for the first value that the schema does not allow. */
export function checkValues(definitions: readonly ValueDefinition[], values: Values): void {
  for (const path of leaves(definitions, values))
    if (!definitions.some((each) => each.path === path))
      throw new InstallError(`value ${path}: ${unknownValue(definitions, path)}`);
  for (const definition of definitions) {
    const problem = problemOf(definition, valueAt(values, definition.path));
    if (problem !== undefined) throw new InstallError(`value ${definition.path}: ${problem}`);
  }
}

function parsed({ type, path }: ValueDefinition, text: string): unknown {
  // A string is taken as it is: an image such as `1.0` is not a number.
  if (type === 'string') return text;
  try {
    return parse(text);
  } catch (error) {
    throw new InstallError(`--set ${path}: not valid YAML: ${(error as Error).message.split('\n')[0]}`);
  }
}

function merged({ path, default: fallback }: ValueDefinition, value: unknown): unknown {
  if (!isJsonMap(fallback) || !isJsonMap(value)) return value;
  if (Object.keys(value).length === 0 && Object.keys(fallback).length > 0)
    throw new InstallError(
      `value ${path}: an empty map changes nothing, because maps are merged with the default; use null for none`,
    );
  return mergedMaps(fallback, value);
}

/** Null removes a field. */
function mergedMaps(base: JsonMap, changes: JsonMap): JsonMap {
  const result = structuredClone(base);
  for (const [name, value] of Object.entries(changes)) {
    const old = result[name];
    if (value === null) delete result[name];
    else result[name] = isJsonMap(old) && isJsonMap(value) ? mergedMaps(old, value) : value;
  }
  return result;
}

function problemOf(definition: ValueDefinition, value: unknown): string | undefined {
  const { type, pattern, choices, minimum } = definition;
  if (!isOfType(type, value)) return `${JSON.stringify(value)} is not valid: use ${ARTICLES[type]}`;
  if (pattern !== undefined && !new RegExp(pattern).test(value as string))
    return `${JSON.stringify(value)} does not match ${pattern}`;
  if (choices !== undefined && !choices.includes(value as string)) return `use one of ${choices.join(', ')}`;
  if (minimum !== undefined && (value as number) < minimum) return `use at least ${minimum}`;
  return undefined;
}

const ARTICLES = {
  string: 'a string',
  boolean: 'true or false',
  integer: 'a whole number',
  array: 'a list',
  object: 'a map, or null',
};

function isOfType(type: ValueDefinition['type'], value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return value === null || isJsonMap(value);
    default:
      return typeof value === type;
  }
}

const unknownValue = (definitions: readonly ValueDefinition[], path: string): string => {
  const below = definitions.filter((each) => each.path.startsWith(`${path}.`)).map((each) => each.path);
  const known = below.length > 0 ? below : definitions.map((each) => each.path);
  return `there is no such value; values: ${known.join(', ')}`;
};

/** The paths of all values in a tree. A map that is a value itself is one leaf. */
function leaves(definitions: readonly ValueDefinition[], tree: Values, prefix = ''): string[] {
  return Object.entries(tree).flatMap(([name, value]) => {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const isGroup = definitions.some((each) => each.path.startsWith(`${path}.`));
    return isGroup && isJsonMap(value) ? leaves(definitions, value, path) : [path];
  });
}

function setAt(values: Values, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    values[name] = value;
    return;
  }
  if (!isJsonMap(values[name])) values[name] = {};
  setAt(values[name] as Values, rest, value);
}
