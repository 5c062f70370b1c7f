/**
 * The types of messages: the schema of a kind has the names and types of its fields, and the generated field numbers have
 * their numbers. A type is compiled when it is first read or written, because most kinds never are.
 */
import { definitionOf, resolveDefinition } from '../schema/builtin.ts';
import { loadFieldNumbers } from '../schema/generated.ts';
import type { Schema } from '../schema/types.ts';

/** Values with one form in JSON and another one in protobuf. */
export type Scalar =
  | 'string'
  | 'boolean'
  | 'integer'
  | 'double'
  | 'bytes'
  | 'time'
  | 'micro-time'
  | 'quantity'
  | 'int-or-string'
  | 'json'
  | Union;

/** Types of JSON Schema that are one of two things. Each is a message with a field for either. */
export type Union = 'schema-or-list' | 'schema-or-boolean' | 'schema-or-strings';

/** The type of one value. A function stands for a message, because types can be recursive. */
export type ValueType = Scalar | (() => MessageType) | { list: ValueType };

export interface Field {
  number: number;
  name: string;
  /** `embedded`: the fields of the message belong to the surrounding object in JSON. */
  shape: 'one' | 'list' | 'map' | 'embedded';
  type: ValueType;
}

export interface MessageType {
  byNumber: readonly (Field | undefined)[];
  /** In descending order, because messages are written from the end. */
  descending: readonly Field[];
}

const APIEXTENSIONS = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';
export const JSON_SCHEMA = `${APIEXTENSIONS}.JSONSchemaProps`;

/** The numbers of the two fields of a union. */
export const UNION_FIELDS: Readonly<Record<Union, { schema: number; other: number }>> = {
  'schema-or-list': { schema: 1, other: 2 },
  'schema-or-boolean': { schema: 2, other: 1 },
  'schema-or-strings': { schema: 1, other: 2 },
};

const UNIONS = new Map<string | undefined, Union>([
  [`${JSON_SCHEMA}OrArray`, 'schema-or-list'],
  [`${JSON_SCHEMA}OrBool`, 'schema-or-boolean'],
  [`${JSON_SCHEMA}OrStringArray`, 'schema-or-strings'],
]);

const FORMATS = new Map<string | undefined, Scalar>([
  ['date-time', 'time'],
  ['micro-time', 'micro-time'],
  ['quantity', 'quantity'],
  ['int-or-string', 'int-or-string'],
  ['byte', 'bytes'],
]);

const compiled = new Map<string, MessageType>();

/** The message type of a schema; undefined if the schema is not that of a type with field numbers. */
export function messageTypeOf(schema: Schema): MessageType | undefined {
  const definition = definitionOf(schema);
  return definition === undefined || numbersOf(definition) === undefined
    ? undefined
    : typeOf(definition, schema);
}

export const messageTypeNamed = (definition: string): MessageType =>
  typeOf(definition, resolveDefinition(definition));

/** The fields of embedded structs are in the schema of the surrounding type, so it is passed on to them. */
function typeOf(definition: string, schema: Schema): MessageType {
  // An embedded struct has the same fields wherever it is embedded.
  const known = compiled.get(definition);
  if (known !== undefined) return known;
  const fields = fieldsOf(definition, schema);
  const byNumber: Field[] = [];
  for (const field of fields) byNumber[field.number] = field;
  const made = { byNumber, descending: fields.sort((a, b) => b.number - a.number) };
  compiled.set(definition, made);
  return made;
}

const PREFIX = 'io.k8s.api.';

const numbersOf = (definition: string): string | undefined =>
  loadFieldNumbers()[definition.startsWith(PREFIX) ? definition.slice(PREFIX.length) : definition];

function fieldsOf(definition: string, schema: Schema): Field[] {
  const line = numbersOf(definition);
  if (line === undefined) throw new Error(`no field numbers of ${definition}: run scripts/facts/read.js`);
  const scope = definition.slice(0, definition.lastIndexOf('.'));
  const fields: Field[] = [];
  let number = 0;
  for (const word of line.split(' ')) {
    const [first = '', second] = word.split('=');
    number = second === undefined ? number + 1 : Number(first);
    const field = fieldOf(number, second ?? first, scope, schema);
    if (field !== undefined) fields.push(field);
  }
  return fields;
}

/** Returns undefined for fields that are not in the schema, for example removed ones. */
function fieldOf(number: number, name: string, scope: string, schema: Schema): Field | undefined {
  if (name.startsWith('>')) {
    const embedded = `${scope}.${name.slice(1)}`;
    return { number, name, shape: 'embedded', type: () => typeOf(embedded, schema) };
  }
  const property = schema.properties?.[name];
  if (property === undefined) return undefined;
  if (property.type === 'array') {
    return { number, name, shape: 'list', type: valueType(property.items ?? {}) };
  }
  if (typeof property.additionalProperties === 'object') {
    return { number, name, shape: 'map', type: valueType(property.additionalProperties) };
  }
  return { number, name, shape: 'one', type: valueType(property) };
}

function valueType(schema: Schema): ValueType {
  const scalar = UNIONS.get(definitionOf(schema)) ?? FORMATS.get(schema.format);
  if (scalar !== undefined) return scalar;
  switch (schema.type) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'boolean';
    case 'integer':
      return 'integer';
    case 'number':
      return 'double';
    case 'array':
      // The wire format has no lists inside maps: such a list is wrapped into a message.
      return { list: valueType(schema.items ?? {}) };
    default: {
      if (schema['x-kubernetes-preserve-unknown-fields'] === true) return 'json';
      const definition = definitionOf(schema);
      if (definition === undefined) throw new Error('a schema without a name has no field numbers');
      return () => typeOf(definition, schema);
    }
  }
}
