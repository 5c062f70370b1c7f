/** Schemas of the built-in kinds: the generated definitions, resolved on demand into one object graph. */
import { loadDefinitions, type RawSchema } from './generated.ts';
import type { Schema } from './types.ts';

/** The Go struct behind a schema. It determines which zero values are written, and error messages name it. */
export interface Struct {
  /** `io.k8s.api.apps.v1.DeploymentSpec`. */
  definition: string;
  /** `DeploymentSpec`. */
  name: string;
  keepZero: ReadonlySet<string>;
  write: readonly string[];
  /** Go's names of string types by field, for example `v1.Protocol`. */
  names: Readonly<Record<string, string>>;
}

/** Each definition is resolved once. Other code uses schema objects as cache keys, so they must be unique. */
const resolved = new Map<string, Schema>();
const structs = new WeakMap<Schema, Struct>();
const names = new WeakMap<Schema, string>();

/**
 * The schema of a kind, for example `apps/v1`, `Deployment`. `meta/v1` is for kinds without a group, such as
 * DeleteOptions.
 */
export function builtinSchema(apiVersion: string, kind: string): Schema {
  const name = loadDefinitions().kinds[`${apiVersion}/${kind}`];
  if (name === undefined)
    throw new Error(`no schema for ${apiVersion} ${kind}: add it to scripts/schema-facts.js`);
  return resolveDefinition(name);
}

export const hasBuiltinSchema = (apiVersion: string, kind: string): boolean =>
  loadDefinitions().kinds[`${apiVersion}/${kind}`] !== undefined;

/** A type by its full name, for example `io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta`. */
export function resolveDefinition(name: string): Schema {
  const known = resolved.get(name);
  if (known !== undefined) return known;
  const raw = loadDefinitions().definitions[name];
  if (raw === undefined)
    throw new Error(`no definition ${name}: add what refers to it to scripts/schema-facts.js`);
  // Stored before it is filled, because types can be recursive (JSONSchemaProps).
  const schema: Schema = {};
  resolved.set(name, schema);
  names.set(schema, name);
  const facts = loadDefinitions().structs[name];
  if (facts !== undefined) {
    const { keepZero, write, names: goNames } = facts;
    const struct = { definition: name, name: name.slice(name.lastIndexOf('.') + 1), write, names: goNames };
    structs.set(schema, { ...struct, keepZero: new Set(keepZero) });
  }
  return Object.assign(schema, resolve(raw));
}

/** Returns undefined for scalars, lists and maps, and for every schema that is not of a built-in kind. */
export const structOf = (schema: Schema): Struct | undefined => structs.get(schema);

/** The full name of the type, for example `io.k8s.api.core.v1.PodSpec`. */
export const definitionOf = (schema: Schema): string | undefined => names.get(schema);

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

/** A field can add keywords to its type, for example a patch strategy. It then gets its own copy of the type. */
function resolveReference(name: string, own: Schema): Schema {
  const target = resolveDefinition(name);
  if (Object.keys(own).length === 0) return target;
  const copy = { ...target, ...own };
  names.set(copy, name);
  const struct = structs.get(target);
  if (struct !== undefined) structs.set(copy, struct);
  return copy;
}
