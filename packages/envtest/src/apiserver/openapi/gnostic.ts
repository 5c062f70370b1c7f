/**
 * The OpenAPI v2 document in protobuf, the only format in which kubectl requests it. The messages are those of gnostic's
 * OpenAPIv2.proto: the JSON structure with a number for each field, maps as lists of named values, and values without a
 * schema as YAML text.
 */
import { ownField } from '@tidegate/kube';
import { ProtobufWriter } from '../protobuf/writer.ts';

type Json = Record<string, unknown>;
type Writer = (to: ProtobufWriter, value: unknown) => void;

/** Fields by their JSON name. `x-` matches all extensions. Fields that gnostic does not define are omitted. */
type Message = Readonly<Record<string, Writer>>;

export function gnosticDocument(document: Json): Buffer {
  const to = new ProtobufWriter();
  writeMembers(DOCUMENT, to, document);
  return to.finish();
}

function writeMembers(message: Message, to: ProtobufWriter, value: unknown): void {
  for (const [name, member] of Object.entries(value as Json).reverse()) {
    if (member === undefined) continue;
    if (name.startsWith('x-')) message['x-']?.(to, [name, member]);
    else ownField(message, name)?.(to, member);
  }
}

const text =
  (field: number): Writer =>
  (to, value) =>
    to.text(field, String(value));
const flag =
  (field: number): Writer =>
  (to, value) =>
    to.boolean(field, value === true);
const integer =
  (field: number): Writer =>
  (to, value) =>
    to.integer(field, Number(value));
const double =
  (field: number): Writer =>
  (to, value) =>
    to.double(field, Number(value));

/** gnostic's Any: YAML, of which JSON is a subset. */
const any =
  (field: number): Writer =>
  (to, value) =>
    to.message(field, () => to.text(2, yamlOf(value)));

/** YAML forbids some characters that JSON allows, and unpaired surrogates. A single one would invalidate the document. */
const yamlOf = (value: unknown): string =>
  JSON.stringify(value).replace(
    /\\ud[89a-f]..|\\.|[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (found) => {
      if (found.length === 1) return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
      return found.startsWith('\\ud') ? '\\ufffd' : found;
    },
  );

const extension = (field: number): Writer => named(field, any);

const repeated =
  (element: Writer): Writer =>
  (to, value) => {
    for (const item of (value as unknown[]).toReversed()) element(to, item);
  };

const message =
  (field: number, members: Message): Writer =>
  (to, value) =>
    to.message(field, () => writeMembers(members, to, value));

/** Wraps a value in a message of its own, as gnostic does for alternatives and for lists of lists. */
const within =
  (field: number, inner: Writer): Writer =>
  (to, value) =>
    to.message(field, () => inner(to, value));

/** A message with a name and a value. */
function named(field: number, valueAt: (field: number) => Writer): Writer {
  const writeValue = valueAt(2);
  return (to, pair) => {
    const [name, value] = pair as [string, unknown];
    to.message(field, () => {
      writeValue(to, value);
      to.text(1, name);
    });
  };
}

/** A map as a repeated field of named values. */
function map(field: number, valueAt: (field: number) => Writer): Writer {
  const pairs = repeated(named(field, valueAt));
  return (to, value) => pairs(to, Object.entries(value as Json));
}

/** Schemas are recursive, so the fields are looked up when a schema is written. */
const schema =
  (field: number): Writer =>
  (to, value) =>
    to.message(field, () => writeMembers(SCHEMA, to, value));

const EXTERNAL_DOCS: Message = { description: text(1), url: text(2) };

const SCHEMA: Message = {
  $ref: text(1),
  format: text(2),
  title: text(3),
  description: text(4),
  multipleOf: double(6),
  maximum: double(7),
  exclusiveMaximum: flag(8),
  minimum: double(9),
  exclusiveMinimum: flag(10),
  maxLength: integer(11),
  minLength: integer(12),
  pattern: text(13),
  maxItems: integer(14),
  minItems: integer(15),
  uniqueItems: flag(16),
  maxProperties: integer(17),
  minProperties: integer(18),
  required: repeated(text(19)),
  enum: repeated(any(20)),
  additionalProperties: (to, value) =>
    within(21, typeof value === 'boolean' ? flag(2) : schema(1))(to, value),
  type: within(22, text(1)),
  items: within(23, schema(1)),
  properties: within(25, map(1, schema)),
  externalDocs: message(29, EXTERNAL_DOCS),
  example: any(30),
  'x-': extension(31),
};

const BODY_PARAMETER: Message = {
  description: text(1),
  name: text(2),
  in: text(3),
  required: flag(4),
  schema: schema(5),
};
const NAMED_PARAMETER = { required: flag(1), in: text(2), description: text(3), name: text(4) };
const QUERY_PARAMETER: Message = { ...NAMED_PARAMETER, type: text(6), uniqueItems: flag(20) };
const PATH_PARAMETER: Message = { ...NAMED_PARAMETER, type: text(5), uniqueItems: flag(19) };

const PARAMETERS: Readonly<Record<string, Writer>> = {
  body: message(1, BODY_PARAMETER),
  query: within(2, message(3, QUERY_PARAMETER)),
  path: within(2, message(4, PATH_PARAMETER)),
};
const parameter = (field: number): Writer =>
  within(field, (to, value) => ownField(PARAMETERS, String((value as Json).in))?.(to, value));

const reference = message(2, { $ref: text(1) });
const parameterOrReference = (field: number): Writer =>
  within(field, (to, value) => ('$ref' in (value as Json) ? reference : parameter(1))(to, value));

const RESPONSE: Message = { description: text(1), schema: within(2, schema(1)) };
const response = (field: number): Writer => within(field, message(1, RESPONSE));

const OPERATION: Message = {
  description: text(3),
  operationId: text(5),
  produces: repeated(text(6)),
  consumes: repeated(text(7)),
  parameters: repeated(parameterOrReference(8)),
  responses: within(9, map(1, response)),
  schemes: repeated(text(10)),
  'x-': extension(13),
};
const operation = (field: number): Writer => message(field, OPERATION);

const PATH: Message = {
  get: operation(2),
  put: operation(3),
  post: operation(4),
  delete: operation(5),
  patch: operation(8),
  parameters: repeated(parameterOrReference(9)),
};

const DOCUMENT: Message = {
  swagger: text(1),
  info: message(2, { title: text(1), version: text(2) }),
  paths: within(
    8,
    map(2, (field) => message(field, PATH)),
  ),
  definitions: within(9, map(1, schema)),
  parameters: within(10, map(1, parameter)),
};
