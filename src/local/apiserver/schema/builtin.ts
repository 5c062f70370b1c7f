/** Schemas of the built-in kinds: the generated definitions, resolved into one object graph as they are asked for. */
import { loadDefinitions, type RawSchema } from './generated.ts';
import type { Schema } from './types.ts';

const resolved = new Map<string, Schema>();
const names = new WeakMap<Schema, string>();

/** The schema of a kind, e.g. `apps/v1`, `Deployment`. `meta/v1` stands for what has no group: DeleteOptions, Status. */
export function builtinSchema(apiVersion: string, kind: string): Schema {
  const name = loadDefinitions().kinds[`${apiVersion}/${kind}`];
  if (name === undefined)
    throw new Error(`no schema for ${apiVersion} ${kind}: add it to scripts/schema-facts.js`);
  return resolveDefinition(name);
}

/** A type by its full name, e.g. `io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta`. */
export function resolveDefinition(name: string): Schema {
  const known = resolved.get(name);
  if (known !== undefined) return known;
  const raw = loadDefinitions().definitions[name];
  if (raw === undefined)
    throw new Error(`no definition ${name}: add what refers to it to scripts/schema-facts.js`);
  // Registered before it is filled: JSONSchemaProps contains itself.
  const schema: Schema = {};
  resolved.set(name, schema);
  names.set(schema, name);
  return Object.assign(schema, resolve(raw));
}

/** The full name of the type that a schema stands for; undefined for plain values, lists and maps. */
export const definitionName = (schema: Schema): string | undefined => names.get(schema);

function resolve(raw: RawSchema): Schema {
  const { $ref, properties, items, additionalProperties, ...own } = raw;
  if ($ref !== undefined) return resolveReference($ref, own);
  const schema: Schema = own;
  if (items !== undefined) schema.items = resolve(items);
  if (additionalProperties !== undefined) schema.additionalProperties = resolve(additionalProperties);
  if (properties !== undefined) {
    schema.properties = Object.fromEntries(
      Object.entries(properties).map(([name, property]) => [name, resolve(property)]),
    );
  }
  return schema;
}

/** A field may add to its type, for example a patch strategy; then it gets a copy of its own. */
function resolveReference(name: string, own: Schema): Schema {
  const target = resolveDefinition(name);
  if (Object.keys(own).length === 0) return target;
  const copy = { ...target, ...own };
  names.set(copy, name);
  return copy;
}
