import { apiVersionOf, type KubeObject, parseApiVersion } from '../../../kube/object.ts';
import { type ApiError, badRequest } from '../errors.ts';
import { decodeProtobuf } from '../protobuf/index.ts';
import type { Served } from '../registry.ts';
import { type Body, parseBody, strictDecodingError } from '../schema/body.ts';
import { hasBuiltinSchema } from '../schema/builtin.ts';
import { decodeCustom } from '../schema/custom.ts';
import { decode } from '../schema/decode.ts';
import type { BodyFormat } from './body.ts';
import type { FieldValidation } from './write-options.ts';

export interface FieldChecks {
  fieldValidation: FieldValidation;
  warn(message: string): void;
}

/** The object in a request body, checked against the schema of its version: unknown fields are gone, types are right. */
export function decodeObject(
  served: Served,
  bytes: Buffer,
  options: FieldChecks & { format: BodyFormat },
): KubeObject {
  const body = readBodyAs(served.definition.kind, bytes, options);
  // Protobuf has no names: what a field number means to nobody is no mistake of the client's.
  const checks = options.format === 'protobuf' ? { ...options, fieldValidation: 'Ignore' as const } : options;
  return conformBody(served, body, checks);
}

/** Checks an object that is not (or no longer) text, such as the result of a patch. */
export const conform = (served: Served, value: Record<string, unknown>, checks: FieldChecks): KubeObject =>
  conformBody(served, { value, duplicates: new Set(), yamlProblems: [] }, checks);

/** A body as a map, whatever it was written in. */
export function readBodyAs(
  kind: string,
  bytes: Buffer,
  options: { format: BodyFormat; fieldValidation: FieldValidation },
): Body {
  if (options.format === 'protobuf') {
    return { value: decodeProtobuf(bytes), duplicates: new Set(), yamlProblems: [] };
  }
  return parseBody(bytes.toString('utf8'), {
    kind,
    yaml: options.format === 'yaml',
    findDuplicates: options.fieldValidation !== 'Ignore',
  });
}

function conformBody(served: Served, body: Body, checks: FieldChecks): KubeObject {
  const { definition, version } = served;
  const options = {
    schema: version.schema,
    kind: definition.kind,
    version: version.name,
    duplicates: body.duplicates,
  };
  const named = withKind(served, body.value);
  const { object, problems } = definition.custom ? decodeCustom(named, options) : decode(named, options);
  const found = body.yamlProblems.length + problems.length > 0;
  if (found && checks.fieldValidation === 'Strict') {
    throw strictDecodingError(definition.kind, version.name, body, problems);
  }
  if (checks.fieldValidation === 'Warn') {
    for (const problem of [...body.yamlProblems, ...problems]) checks.warn(problem);
  }
  object.metadata ??= {};
  return object;
}

/** A body may leave out what the path says already, but must not contradict it. */
function withKind(served: Served, object: Record<string, unknown>): KubeObject {
  const { definition, version } = served;
  const expected = apiVersionOf(definition.group, version.name);
  const kind = (object.kind as string | undefined) || definition.kind;
  const apiVersion = (object.apiVersion as string | undefined) || expected;
  if (apiVersion !== expected || kind !== definition.kind) throw wrongKind(served, apiVersion, kind);
  return { ...object, apiVersion, kind } as KubeObject;
}

function wrongKind({ definition, version }: Served, apiVersion: string, kind: string): ApiError {
  const expected = apiVersionOf(definition.group, version.name);
  if (definition.custom) {
    const what =
      apiVersion === expected ? ['kind', kind, definition.kind] : ['API version', apiVersion, expected];
    return badRequest(
      `the ${what[0]} in the data (${what[1]}) does not match the expected ${what[0]} (${what[2]})`,
    );
  }
  const given = parseApiVersion(apiVersion);
  const why = hasBuiltinSchema(apiVersion, kind)
    ? `converting (${given.version}.${kind}) to (${internalPackage(definition.group)}.${definition.kind}): unknown conversion`
    : `no kind "${kind}" is registered for version "${apiVersion}" in scheme "pkg/api/legacyscheme/scheme.go:30"`;
  return badRequest(
    `${kind} in version "${given.version}" cannot be handled as a ${definition.kind}: ${why}`,
  );
}

/** How the real server calls the group in its own code: `core`, `apps`, `networking`. */
const internalPackage = (group: string): string => group.split('.', 1)[0] || 'core';
