/**
 * Validates a custom resource against its schema, with the messages of kube-apiserver. In an update, unchanged values
 * are not validated again (CRD validation ratcheting, KEP-4008), so that a stricter schema does not block other
 * changes.
 */
import { isJsonMap, jsonEqual } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { oldField, oldItems } from './correlate.ts';
import { hasFormat } from './formats.ts';
import { matches } from './regexp.ts';
import type { Schema } from './types.ts';

export function validateSchema(value: unknown, schema: Schema, old?: unknown): FieldError[] {
  return check(value, schema, '', old);
}

/** The order of the checks is the order of the errors in responses of kube-apiserver. */
function check(value: unknown, schema: Schema, path: string, old: unknown): FieldError[] {
  if (old !== undefined && jsonEqual(value, old)) return [];
  const errors = [...checkType(value, schema, path), ...checkCombinations(value, schema, path)];
  if (typeof value === 'string') errors.push(...checkString(value, schema, path));
  else if (typeof value === 'number') errors.push(...checkNumber(value, schema, path));
  else if (Array.isArray(value)) errors.push(...checkArray(value, schema, path, old));
  errors.push(...checkEnum(value, schema, path));
  if (isJsonMap(value)) errors.push(...checkObject(value, schema, path, old));
  return errors;
}

type Json = Record<string, unknown>;

/** Combinations have no path of their own, which kube-apiserver prints as `<nil>`. */
const NO_PATH = '<nil>';

const typesOf = (schema: Schema): string[] => {
  if (schema['x-kubernetes-int-or-string'] === true) return ['integer', 'string'];
  return schema.type === undefined ? [] : [schema.type];
};

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return isInt64(value) ? 'integer' : 'number';
  return typeof value;
}

const isInt64 = (value: number): boolean => Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63;

/** The Go type of a number, which kube-apiserver shows in place of the format. */
const numberFormatOf = (value: unknown): string =>
  typeof value === 'number' ? (isInt64(value) ? 'int64' : 'float64') : '';

function checkType(value: unknown, schema: Schema, path: string): FieldError[] {
  const types = typesOf(schema);
  if (types.length === 0 || (value === null && schema.nullable === true)) return [];
  const actual = jsonTypeOf(value);
  if (types.includes(actual) || (actual === 'integer' && types.includes('number'))) return [];
  const isNumeric = types.includes('integer') || types.includes('number');
  const { format } = schema;
  if (format !== undefined && value !== null) {
    if (typeof value === 'string' || Array.isArray(value)) {
      if (!isNumeric) return [];
    } else return [wrongType(path, format, numberFormatOf(value))];
  }
  return [wrongType(path, types.join(','), actual)];
}

const wrongType = (path: string, type: string, actual: string): FieldError =>
  fieldError.typeInvalid(path, actual, `${path} in body must be of type ${type}: ${JSON.stringify(actual)}`);

function checkString(value: string, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) {
    errors.push(fieldError.tooLong(path, schema.maxLength));
  } else if (schema.minLength !== undefined && length < schema.minLength) {
    errors.push(bad(path, value, `should be at least ${schema.minLength} chars long`));
  } else if (schema.pattern !== undefined && !matches(schema.pattern, value)) {
    errors.push(bad(path, value, `should match '${schema.pattern}'`));
  }
  const { format } = schema;
  if (format !== undefined && !hasFormat(format, value)) errors.push(wrongType(path, format, value));
  return errors;
}

const bad = (path: string, value: unknown, what: string): FieldError =>
  fieldError.invalid(path, value, `${path} in body ${what}`);

function checkNumber(value: number, schema: Schema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (!fitsFormat(value, schema)) {
    const format = schema.format === undefined ? '(default format)' : `with format ${schema.format}`;
    errors.push(
      fieldError.invalid(NO_PATH, '', `Checked value must be of type ${schema.type} ${format} in ${path}`),
    );
  }
  const { multipleOf, minimum, maximum } = schema;
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf)) {
    errors.push(bad(path, value, `should be a multiple of ${multipleOf}`));
  }
  if (minimum !== undefined && (schema.exclusiveMinimum ? value <= minimum : value < minimum)) {
    const bound = schema.exclusiveMinimum ? 'greater than' : 'greater than or equal to';
    errors.push(bad(path, value, `should be ${bound} ${minimum}`));
  }
  if (maximum !== undefined && (schema.exclusiveMaximum ? value >= maximum : value > maximum)) {
    const bound = schema.exclusiveMaximum ? 'less than' : 'less than or equal to';
    errors.push(bad(path, value, `should be ${bound} ${maximum}`));
  }
  return errors;
}

function fitsFormat(value: number, schema: Schema): boolean {
  if (schema.type !== 'integer') return schema.format !== 'float' || Math.abs(value) <= 3.4028234663852886e38;
  if (schema.format === 'int32') return Number.isInteger(value) && value >= -(2 ** 31) && value < 2 ** 31;
  return isInt64(value);
}

function checkArray(value: unknown[], schema: Schema, path: string, old: unknown): FieldError[] {
  const errors: FieldError[] = [];
  const { items, minItems, maxItems } = schema;
  if (items !== undefined) {
    const oldOf = oldItems(old, schema);
    for (const [index, item] of value.entries()) {
      errors.push(...check(item, items, `${path}[${index}]`, oldOf(item)));
    }
  }
  if (minItems !== undefined && value.length < minItems) {
    errors.push(bad(path, value.length, `should have at least ${minItems} items`));
  }
  if (maxItems !== undefined && value.length > maxItems) {
    errors.push(fieldError.tooMany(path, value.length, maxItems));
  }
  return errors;
}

function checkEnum(value: unknown, schema: Schema, path: string): FieldError[] {
  const allowed = schema.enum;
  if (allowed === undefined || allowed.some((candidate) => jsonEqual(candidate, value))) return [];
  if (value === null && schema.nullable === true) return [];
  const names = allowed.map((v) => (typeof v === 'string' ? v : JSON.stringify(v)));
  return [fieldError.notSupported(path, value, names)];
}

function checkObject(value: Json, schema: Schema, path: string, old: unknown): FieldError[] {
  const errors: FieldError[] = [];
  const { minProperties, maxProperties, properties = {}, additionalProperties } = schema;
  const keys = Object.keys(value);
  if (minProperties !== undefined && keys.length < minProperties) {
    errors.push(bad(path, keys.length, `should have at least ${minProperties} properties`));
  }
  if (maxProperties !== undefined && keys.length > maxProperties) {
    errors.push(fieldError.tooMany(path, keys.length, maxProperties));
  }
  for (const key of keys) {
    const child = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    const keyPath = path === '' ? key : `${path}.${key}`;
    if (typeof child === 'object') errors.push(...check(value[key], child, keyPath, oldField(old, key)));
    else if (child === false)
      errors.push(fieldError.invalid(keyPath, '', `${path}.${key} in body is a forbidden property`));
  }
  for (const key of schema.required ?? []) {
    if (!Object.hasOwn(value, key)) errors.push(fieldError.required(path === '' ? key : `${path}.${key}`));
  }
  return errors;
}

/** anyOf, oneOf, allOf and not. For a failed anyOf or oneOf, the errors of the first alternative are shown. */
function checkCombinations(value: unknown, schema: Schema, path: string): FieldError[] {
  if (value === null) return [];
  const errors: FieldError[] = [];
  const failed = (what: string): FieldError => fieldError.invalid(NO_PATH, '', `"${path}" ${what}`);
  const results = (schemas: Schema[] = []): FieldError[][] =>
    schemas.map((s) => check(value, s, path, undefined));

  const any = results(schema.anyOf);
  if (any.length > 0 && any.every((r) => r.length > 0)) {
    errors.push(failed('must validate at least one schema (anyOf)'), ...(any[0] ?? []));
  }
  const one = results(schema.oneOf);
  const valid = one.filter((r) => r.length === 0).length;
  if (one.length > 0 && valid !== 1) {
    const found = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
    errors.push(failed(`must validate one and only one schema (oneOf). ${found}`));
    if (valid === 0) errors.push(...(one[0] ?? []));
  }
  const all = results(schema.allOf);
  if (all.some((r) => r.length > 0)) {
    const none = all.every((r) => r.length > 0) ? '. None validated' : '';
    errors.push(...all.flat(), failed(`must validate all the schemas (allOf)${none}`));
  }
  if (schema.not !== undefined && check(value, schema.not, path, undefined).length === 0) {
    errors.push(failed('must not validate the schema (not)'));
  }
  return errors;
}
