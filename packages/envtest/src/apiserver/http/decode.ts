import type { KubeObject } from '@tidegate/kube';
import { type ApiError, badRequest, fieldError, invalid } from '@tidegate/serving';
import { decodeProtobuf } from '../protobuf/index.ts';
import { type Body, parseBody } from '../schema/body.ts';
import { decodeCustom } from '../schema/custom.ts';
import { type Decoded, DecodeError, type DecodeOptions, decode } from '../schema/decode.ts';
import type { DecodeWords } from '../schema/decode-words.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';
import type { BodyFormat } from './body.ts';
import { cannotConvert, isOtherKind, kindChanged, otherKind, withKind } from './kind.ts';
import type { FieldValidation } from './write-options.ts';

/** What to do with unknown and duplicate fields: ignore them, warn, or reject the request. */
export interface FieldChecks {
  fieldValidation: FieldValidation;
  warn(message: string): void;
}

/** Creates the error response for a reason. */
type Refuse = (why: string) => ApiError;

/** Decodes a request body against the schema of its version: unknown fields are removed and types are checked. */
export function decodeObject(
  served: Served,
  bytes: Buffer,
  options: FieldChecks & { format: BodyFormat },
): KubeObject {
  const { definition, version } = served;
  const { kind } = definition;
  const body = readBodyAs(kind, bytes, options);
  const object = withKind(served, body.value);
  if (isOtherKind(served, object)) throw otherKind(served, object);
  const refuse: Refuse = (why) =>
    badRequest(`${kind} in version "${version.name}" cannot be handled as a ${kind}: ${why}`);
  const decoded = read(served, object, { duplicates: body.duplicates }, refuse);
  // Protobuf has no field names, so unknown fields are not an error of the client.
  if (options.format !== 'protobuf') checkFields(options, body.yamlProblems, decoded.problems, refuse);
  return decoded.object;
}

/** The result of a patch. */
export interface Patched {
  object: Record<string, unknown>;
  /** The invalid value in error messages: the patch or its result. */
  shown(): string;
  words: DecodeWords;
  /** Problems of the patch document itself, for example `duplicate field "spec.replicas"`. */
  problems: readonly string[];
}

/** Decodes the result of a patch. Its errors show the patch or the result, depending on the patch type. */
export function conformPatched(served: Served, patched: Patched, checks: FieldChecks): KubeObject {
  const refuse: Refuse = (why) =>
    invalid({ group: '', kind: '' }, '', [fieldError.invalid('patch', patched.shown(), why)]);
  const object = withKind(served, patched.object);
  if (patched.words === 'converter') {
    // The kind is given by the path, whatever the patch contains. Only the type of the field must be right.
    if (typeof object.apiVersion === 'string') object.apiVersion = servedApiVersion(served);
    if (typeof object.kind === 'string') object.kind = served.definition.kind;
  } else if (isOtherKind(served, object)) {
    throw served.definition.custom ? kindChanged(served, object) : refuse(cannotConvert(served, object));
  }
  const decoded = read(served, object, { words: patched.words }, refuse);
  checkFields(checks, [], [...patched.problems, ...decoded.problems], refuse);
  return decoded.object;
}

/** Decodes an object that was checked before, in parts or in another version. */
export const conform = (served: Served, object: Record<string, unknown>): KubeObject =>
  read(served, withKind(served, object), {}, badRequest).object;

/** Parses a body of any format into a map. */
export function readBodyAs(
  kind: string,
  bytes: Buffer,
  options: { format: BodyFormat; fieldValidation: FieldValidation; applied?: boolean },
): Body {
  if (options.format === 'protobuf') {
    return { value: decodeProtobuf(bytes), duplicates: new Set(), yamlProblems: [] };
  }
  return parseBody(bytes.toString('utf8'), {
    kind,
    yaml: options.format === 'yaml',
    applied: options.applied,
    findDuplicates: options.fieldValidation !== 'Ignore',
  });
}

/**
 * Parses the document of an apply. Unknown fields are an error of the apply itself, because the schema does not declare
 * them; only duplicate keys have to be found here, since the parsed document does not show them.
 */
export function readApplyBody(kind: string, bytes: Buffer, checks: FieldChecks): Record<string, unknown> {
  const { value, yamlProblems } = readBodyAs(kind, bytes, { ...checks, format: 'yaml', applied: true });
  if (yamlProblems.length === 0) return value;
  if (checks.fieldValidation === 'Strict') {
    throw badRequest(`error strict decoding YAML: ${unmarshalErrors(yamlProblems)}`);
  }
  for (const problem of yamlProblems) checks.warn(problem);
  return value;
}

const unmarshalErrors = (problems: readonly string[]): string =>
  `yaml: unmarshal errors:\n  ${problems.join('\n  ')}`;

function read(
  { definition, version }: Served,
  value: Record<string, unknown>,
  how: Omit<DecodeOptions, 'schema'>,
  refuse: Refuse,
): Decoded {
  const options = { schema: version.schema, ...how };
  try {
    const decoded = definition.custom ? decodeCustom(value, options) : decode(value, options);
    decoded.object.metadata ??= {};
    return decoded;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw refuse(error.message);
  }
}

/** Reports problems with fields according to `fieldValidation`, see KEP-2885. */
function checkFields(
  { fieldValidation, warn }: FieldChecks,
  yamlProblems: readonly string[],
  problems: readonly string[],
  refuse: Refuse,
): void {
  if (fieldValidation === 'Warn') for (const problem of [...yamlProblems, ...problems]) warn(problem);
  if (fieldValidation !== 'Strict' || yamlProblems.length + problems.length === 0) return;
  const all = yamlProblems.length === 0 ? problems : [unmarshalErrors(yamlProblems), ...problems];
  throw refuse(`strict decoding error: ${all.join(', ')}`);
}
