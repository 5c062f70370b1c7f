/**
 * Decodes an object of a built-in kind and normalizes it, as kube-apiserver does by unmarshalling into Go structs and
 * marshalling again: unknown fields and nulls disappear, wrong types are rejected, empty optional fields are omitted,
 * struct fields appear, and quantities, times and base64 get their canonical form.
 */
import {
  formatQuantity,
  isJsonMap,
  type KubeObject,
  ownField,
  parseQuantity,
  setField,
} from '@tidegate/kube';
import { jsonType } from './body.ts';
import { definitionOf, resolveDefinition, type Struct, structOf } from './builtin.ts';
import { type DecodeWords, wrongType } from './decode-words.ts';
import { pathText } from './json.ts';
import { canonicalMicroTime, canonicalTime } from './time.ts';
import type { Schema } from './types.ts';
import { isZero, setZero, zeroOf } from './zero.ts';

export interface DecodeOptions {
  schema: Schema;
  /** Paths of duplicate keys in the body; see body.ts. */
  duplicates?: ReadonlySet<string>;
  /** The style of the messages for wrong types. Default: `json`. */
  words?: DecodeWords;
}

export interface Decoded {
  object: KubeObject;
  /** `unknown field "spec.foo"`, `duplicate field "spec.bar"`: warnings, or errors in strict validation. */
  problems: string[];
}

/** kube-apiserver reports at most this many. */
const MAX_PROBLEMS = 100;

/** The value cannot be decoded as its kind. The message is that of kube-apiserver, without its prefix. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

/** Throws a DecodeError. */
export function decode(value: Record<string, unknown>, options: DecodeOptions): Decoded {
  const decoder = new Decoder(options.duplicates ?? new Set(), options.words ?? 'json');
  const object = decoder.struct(value, options.schema) as KubeObject;
  return { object, problems: decoder.problems };
}

/** Decodes the metadata of an object without a Go struct. Unknown fields are reported below `path`. */
export function decodeMetadata(value: unknown, path: string, problems: string[]): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new DecodeError(`json: cannot unmarshal ${jsonType(value)} into Go value of type v1.ObjectMeta`);
  }
  const decoder = new Decoder(new Set(), 'json');
  const metadata = decoder.struct(value as Record<string, unknown>, resolveDefinition(OBJECT_META));
  problems.push(...decoder.problems.map((problem) => problem.replace('field "', `field "${path}.`)));
  return metadata;
}

/** Types of JSON Schema that are a schema or something else, for example `items` and `additionalProperties`. */
const holdsSchema = (schema: Schema): boolean =>
  definitionOf(schema)?.startsWith(`${JSON_SCHEMA}Or`) === true;

const JSON_SCHEMA = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';
const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** The location of a value. The struct and the Go type are only for error messages. */
interface Target {
  struct: Struct | undefined;
  field: string;
}

/** Walks the value and the schema together. `#path` is the current position, for messages. */
class Decoder {
  readonly problems: string[] = [];
  readonly #duplicates: ReadonlySet<string>;
  readonly #words: DecodeWords;
  readonly #path: (string | number)[] = [];

  constructor(duplicates: ReadonlySet<string>, words: DecodeWords) {
    this.#duplicates = duplicates;
    this.#words = words;
  }

  /**
   * Decodes the fields of a Go struct: unknown fields are reported and dropped, zero values of optional fields are
   * omitted, and fields that Go always writes are added.
   */
  struct(value: Record<string, unknown>, schema: Schema): Record<string, unknown> {
    const properties = schema.properties ?? {};
    const struct = structOf(schema);
    const result: Record<string, unknown> = {};
    for (const key of Object.keys(value)) {
      const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
      this.#path.push(key);
      if (this.#duplicates.size > 0) this.#checkDuplicate();
      if (property === undefined) this.#problem('unknown');
      else {
        const decoded = this.#value(value[key], property, { struct, field: key });
        if (decoded !== undefined && !(isZero(decoded, property) && !struct?.keepZero.has(key))) {
          setField(result, key, decoded);
        }
      }
      this.#path.pop();
    }
    for (const field of struct?.write ?? []) {
      if (result[field] === undefined) setZero(result, field, properties[field]);
    }
    return result;
  }

  /** Returns undefined if the field is omitted. */
  #value(value: unknown, schema: Schema, target: Target): unknown {
    if (value === null || value === undefined) return undefined;
    if (schema.format !== undefined) return this.#formatted(value, schema, target);
    switch (schema.type) {
      case 'object':
        return this.#object(value, schema, target);
      case 'array':
        return this.#array(value, schema, target);
      case 'string':
      case 'boolean':
      case 'number':
        if (typeof value !== schema.type) throw this.#wrongType(value, schema, target);
        return value;
      default:
        return holdsSchema(schema) ? this.#schemaOr(value) : value;
    }
  }

  /** A JSON Schema, a list of them, or something else. kube-apiserver does not report unknown fields in these. */
  #schemaOr(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#schemaOr(item));
    if (!isJsonMap(value)) return value;
    const reported = this.problems.length;
    const decoded = this.struct(value, resolveDefinition(JSON_SCHEMA));
    this.problems.length = reported;
    return decoded;
  }

  #object(value: unknown, schema: Schema, target: Target): unknown {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw this.#wrongType(value, schema, target);
    }
    const object = value as Record<string, unknown>;
    if (schema['x-kubernetes-preserve-unknown-fields'] === true) return object;
    const { additionalProperties } = schema;
    if (typeof additionalProperties !== 'object') return this.struct(object, schema);
    const result: Record<string, unknown> = {};
    for (const key of Object.keys(object)) {
      this.#path.push(key);
      if (this.#duplicates.size > 0) this.#checkDuplicate();
      const decoded = this.#value(object[key], additionalProperties, target);
      setField(result, key, decoded ?? zeroOf(additionalProperties));
      this.#path.pop();
    }
    return result;
  }

  #array(value: unknown, schema: Schema, target: Target): unknown {
    if (!Array.isArray(value)) throw this.#wrongType(value, schema, target);
    const items = schema.items ?? {};
    return value.map((item, index) => {
      this.#path.push(index);
      const decoded = this.#value(item, items, target) ?? zeroOf(items);
      this.#path.pop();
      return decoded;
    });
  }

  /** Scalars with a format have a Go type of their own, which parses and prints them. */
  #formatted(value: unknown, schema: Schema, target: Target): unknown {
    switch (schema.format) {
      case 'int32':
        return this.#integer(value, 2 ** 31, schema, target);
      case 'int64':
        return this.#integer(value, 2 ** 63, schema, target);
      case 'int-or-string':
        return typeof value === 'string' ? value : this.#integer(value, 2 ** 31, schema, target);
      case 'quantity':
        return quantity(value);
      case 'double':
        if (typeof value !== 'number') throw this.#wrongType(value, schema, target);
        return value;
      case 'byte':
        if (typeof value !== 'string') throw this.#wrongType(value, schema, target);
        return this.#base64(value);
      case 'date-time':
      case 'micro-time':
        if (typeof value !== 'string') throw this.#wrongType(value, schema, target);
        return parsed(() =>
          schema.format === 'date-time' ? canonicalTime(value) : canonicalMicroTime(value),
        );
      default:
        return this.#value(value, { ...schema, format: undefined }, target);
    }
  }

  #integer(value: unknown, limit: number, schema: Schema, target: Target): number {
    if (typeof value !== 'number') throw this.#wrongType(value, schema, target);
    if (Number.isInteger(value) && value < limit && value >= -limit) return value;
    // The converter truncates numbers that are out of range and leaves the error to validation.
    if (this.#words === 'converter' && schema.format === 'int32' && Number.isInteger(value)) return value | 0;
    throw this.#wrongType(value, schema, target);
  }

  #base64(text: string): string {
    try {
      return canonicalBase64(text);
    } catch (cause) {
      if (this.#words === 'json' || !(cause instanceof DecodeError)) throw cause;
      throw new DecodeError(`error decoding from json: ${cause.message}`, { cause });
    }
  }

  #wrongType(value: unknown, schema: Schema, target: Target): DecodeError {
    const path = this.#path.filter((segment, i) => typeof segment === 'string' && !this.#isMapKey(i, target));
    const field = `${target.struct?.name ?? ''}.${path.join('.')}`;
    return new DecodeError(wrongType(this.#words, { value, schema, type: goType(schema, target), field }));
  }

  /** Go names the field of a map in errors, not the key. */
  #isMapKey(index: number, target: Target): boolean {
    return index > this.#path.lastIndexOf(target.field);
  }

  #checkDuplicate(): void {
    if (this.#duplicates.has(pathText(this.#path))) this.#problem('duplicate');
  }

  #problem(what: 'unknown' | 'duplicate'): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(`${what} field "${pathText(this.#path)}"`);
  }
}

/** Runs a parser and turns its error into a DecodeError. */
function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw new DecodeError(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

const QUANTITY_FORM = /^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$/;

function quantity(value: unknown): string {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value).trim() : '';
  const known = parseQuantity(text);
  if (known !== undefined) return formatQuantity(known);
  const form = QUANTITY_FORM.exec(text);
  if (form === null) {
    throw new DecodeError(`quantities must match the regular expression '${QUANTITY_FORM.source}'`);
  }
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(form[1] ?? '');
  throw new DecodeError(
    isNumber ? "unable to parse quantity's suffix" : 'unable to parse numeric part of quantity',
  );
}

function canonicalBase64(text: string): string {
  const wrong = /[^A-Za-z0-9+/=\r\n]/.exec(text);
  if (wrong !== null) throw new DecodeError(`illegal base64 data at input byte ${wrong.index}`);
  const compact = text.replace(/[\r\n]/g, '');
  if (compact.length % 4 === 0 && /^[^=]*={0,2}$/.test(compact)) return compact;
  throw new DecodeError(`illegal base64 data at input byte ${compact.length - (compact.length % 4)}`);
}

/** Go's name of the type of a schema. */
function goType(schema: Schema, target: Target): string {
  const struct = structOf(schema);
  if (struct !== undefined) return struct.definition.split('.').slice(-2).join('.');
  const named = ownField(FORMAT_TYPES, schema.format ?? '');
  if (named !== undefined) return named;
  switch (schema.type) {
    case 'array':
      return `[]${goType(schema.items ?? {}, target)}`;
    case 'object':
      return `map[string]${typeof schema.additionalProperties === 'object' ? goType(schema.additionalProperties, target) : 'interface {}'}`;
    case 'boolean':
      return 'bool';
    case 'string':
      return ownField(target.struct?.names, target.field) ?? 'string';
    default:
      return 'string';
  }
}

const FORMAT_TYPES: Readonly<Record<string, string>> = {
  int32: 'int32',
  int64: 'int64',
  'int-or-string': 'int32',
  double: 'float64',
  byte: '[]uint8',
  quantity: 'resource.Quantity',
};
