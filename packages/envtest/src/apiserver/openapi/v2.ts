/**
 * `/openapi/v2`: the whole API in one document of the older version, built from the same paths and schemas as v3. kubectl
 * uses it where v3 has no answer: for a `kind: List`, and for kinds that do not support patches.
 */
import type { Served } from '../served/registry.ts';
import { sortKeys } from './index.ts';
import { pathsOf } from './paths.ts';
import { SchemaWriter } from './schemas.ts';
import { mapValues, toV2Definition, toV2Schema } from './v2-schema.ts';

type Json = Record<string, unknown>;

export function openApiV2(served: Served[], version: string): Json {
  const writer = new SchemaWriter();
  const parameters = new SharedParameters();
  const paths: Json = {};
  for (const resource of served) {
    for (const [path, item] of Object.entries(pathsOf(resource, writer))) {
      paths[path] = toV2Path(item as Json, parameters);
    }
  }
  return {
    swagger: '2.0',
    info: { title: 'Kubernetes', version },
    paths: sortKeys(paths),
    definitions: sortKeys(mapValues(writer.schemas, toV2Definition)),
    parameters: sortKeys(parameters.definitions),
  };
}

function toV2Path({ parameters, ...operations }: Json, shared: SharedParameters): Json {
  return {
    ...mapValues(operations, (operation) => toV2Operation(operation, shared)),
    parameters: shared.of(parameters as Json[]),
  };
}

const WRITTEN = ['application/json', 'application/yaml'];

function toV2Operation(operation: Json, shared: SharedParameters): Json {
  const { parameters, requestBody, responses, ...own } = operation;
  const body = requestBody as { content: Record<string, Json>; required: boolean } | undefined;
  return {
    ...own,
    consumes: body === undefined ? ['*/*'] : Object.keys(body.content),
    produces: WRITTEN,
    schemes: ['https'],
    parameters: [...bodyParameter(body), ...shared.of(parameters as Json[])],
    responses: mapValues(responses as Json, toV2Response),
  };
}

function bodyParameter(body: { content: Record<string, Json>; required: boolean } | undefined): Json[] {
  if (body === undefined) return [];
  const [schema] = Object.values(body.content).map((content) => toV2Schema(content.schema as Json));
  return [{ name: 'body', in: 'body', required: body.required, schema }];
}

function toV2Response({ description, content }: Json): Json {
  const [answer] = Object.values((content ?? {}) as Record<string, Json>);
  return { description, ...(answer !== undefined && { schema: toV2Schema(answer.schema as Json) }) };
}

/** Nearly all operations share a few parameters, which are therefore defined once. */
class SharedParameters {
  readonly definitions: Json = {};
  readonly #names = new Map<Json, string>();

  of(parameters: Json[]): Json[] {
    return parameters.map((parameter) =>
      parameter.in === 'query'
        ? { $ref: `#/parameters/${this.#nameOf(parameter)}` }
        : toV2Parameter(parameter),
    );
  }

  #nameOf(parameter: Json): string {
    const known = this.#names.get(parameter);
    if (known !== undefined) return known;
    let name = String(parameter.name);
    // A different parameter with the same name.
    while (name in this.definitions) name += '_';
    this.#names.set(parameter, name);
    this.definitions[name] = toV2Parameter(parameter);
    return name;
  }
}

function toV2Parameter({ schema, ...own }: Json): Json {
  return { ...own, ...(schema as Json) };
}
