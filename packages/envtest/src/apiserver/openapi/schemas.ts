/** The types of a document: built-in types with their well-known names, and custom kinds by group and kind. */
import type { ResourceDefinition, ServedVersion } from '../resources/types.ts';
import { structOf } from '../schema/builtin.ts';
import { loadDefinitions, loadDescriptions, type RawSchema } from '../schema/generated.ts';
import { type Gvk, gvkExtension, META, typeMetaDescription } from './common.ts';
import { customSchema } from './custom-schema.ts';

type Json = Record<string, unknown>;

const LIST_META = `${META}.ListMeta`;

/** The schemas of types that have a special JSON form. */
const WIRE_FORMS: Record<string, Json> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { oneOf: [{ type: 'string' }, { type: 'number' }] },
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': {
    format: 'int-or-string',
    oneOf: [{ type: 'integer' }, { type: 'string' }],
  },
  [`${META}.MicroTime`]: { type: 'string', format: 'date-time' },
};

/** Collects the schemas that a document references. */
export class SchemaWriter {
  readonly schemas: Record<string, unknown> = {};

  /** Adds the kind of a resource and its list kind. Returns their names. */
  addKind(definition: ResourceDefinition, version: ServedVersion): { object: string; list: string } {
    const gvk = { group: definition.group, version: version.name, kind: definition.kind };
    const name = structOf(version.schema)?.definition ?? customName(gvk);
    if (structOf(version.schema) === undefined) {
      this.add(`${META}.ObjectMeta`);
      this.schemas[name] = customSchema(version.schema, gvk);
    } else this.add(name, gvk);
    const list = `${name.slice(0, name.lastIndexOf('.') + 1)}${definition.listKind}`;
    this.add(LIST_META);
    this.schemas[list] = listSchema(definition, { ...gvk, kind: definition.listKind }, name);
    return { object: name, list };
  }

  /** Adds the kind of a subresource; undefined if it has no schema. */
  addOther(gvk: Gvk): string | undefined {
    const apiVersion = gvk.group === '' ? gvk.version : `${gvk.group}/${gvk.version}`;
    const name = loadDefinitions().kinds[`${apiVersion}/${gvk.kind}`];
    if (name !== undefined) this.add(name, gvk);
    return name;
  }

  /** Adds a built-in type and all types that it references. */
  add(name: string, gvk?: Gvk): string {
    const raw = loadDefinitions().definitions[name];
    if (raw === undefined || (this.schemas[name] !== undefined && gvk === undefined)) return name;
    // Stored first, because types can be recursive.
    this.schemas[name] = {};
    this.schemas[name] = { ...this.#type(name, raw), ...(gvk === undefined ? {} : gvkExtension(gvk)) };
    return name;
  }

  #type(name: string, raw: RawSchema): Json {
    const descriptions = loadDescriptions()[name] ?? {};
    const description = descriptions[''] === undefined ? {} : { description: descriptions[''] };
    const wire = WIRE_FORMS[name];
    if (wire !== undefined) return { ...description, ...wire };
    const { properties, ...rest } = raw;
    const written = new Set(loadDefinitions().structs[name]?.write);
    return {
      ...description,
      ...withoutInternals(rest),
      ...(properties === undefined
        ? {}
        : {
            properties: Object.fromEntries(
              Object.entries(properties).map(([field, property]) => [
                field,
                this.#field(property, descriptions[field] ?? inheritedDescription(field), written.has(field)),
              ]),
            ),
          }),
    };
  }

  #field(raw: RawSchema, description: string | undefined, written: boolean): Json {
    const text = description === undefined ? {} : { description };
    const { $ref, items, additionalProperties, ...own } = raw;
    const zero = written && own.default === undefined ? zeroOf(raw) : undefined;
    const common = { ...text, ...withoutInternals(own), ...(zero === undefined ? {} : { default: zero }) };
    if ($ref !== undefined) {
      const reference = this.#reference($ref);
      return Object.keys(common).length === 0 ? reference : { ...common, allOf: [reference] };
    }
    return {
      ...common,
      ...(items === undefined ? {} : { items: this.#element(items) }),
      ...(additionalProperties === undefined
        ? {}
        : { additionalProperties: this.#element(additionalProperties) }),
    };
  }

  /** An item of a list or a value of a map is never absent, so its default is the zero value. */
  #element(raw: RawSchema): Json {
    return this.#field(raw, undefined, raw.type !== 'array' && raw.format !== 'byte');
  }

  #reference(name: string): Json {
    return { $ref: `#/components/schemas/${this.add(name)}` };
  }
}

/** apiVersion and kind have the same description in all kinds. */
const inheritedDescription = (field: string): string | undefined =>
  field === 'apiVersion' || field === 'kind' ? typeMetaDescription(field) : undefined;

const withoutInternals = (raw: RawSchema): Json => {
  const { 'x-kubernetes-preserve-unknown-fields': _, ...rest } = raw;
  return rest as Json;
};

function zeroOf(raw: RawSchema): unknown {
  if (raw.$ref !== undefined) return hasObjectForm(raw.$ref) ? {} : undefined;
  return { string: '', integer: 0, number: 0, boolean: false, object: undefined, array: undefined }[
    raw.type ?? 'object'
  ];
}

/** Times and quantities are structs in Go but strings in JSON. */
const hasObjectForm = (name: string): boolean =>
  WIRE_FORMS[name] === undefined && loadDefinitions().definitions[name]?.type === 'object';

/** For example `com.example.v1.Foo`, as kube-apiserver names custom kinds. */
const customName = ({ group, version, kind }: Gvk): string =>
  [...group.split('.').reverse(), version, kind].join('.');

const API_CONVENTIONS = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md';

const listSchema = (definition: ResourceDefinition, gvk: Gvk, item: string): Json => ({
  description: `${definition.listKind} is a list of ${definition.kind}`,
  type: 'object',
  required: ['items'],
  properties: {
    apiVersion: { description: typeMetaDescription('apiVersion'), type: 'string' },
    items: {
      description: `List of ${definition.plural}. More info: ${API_CONVENTIONS}`,
      type: 'array',
      items: { $ref: `#/components/schemas/${item}` },
    },
    kind: { description: typeMetaDescription('kind'), type: 'string' },
    metadata: {
      description: `Standard list metadata. More info: ${API_CONVENTIONS}#types-kinds`,
      allOf: [{ $ref: `#/components/schemas/${LIST_META}` }],
    },
  },
  ...gvkExtension(gvk),
});
