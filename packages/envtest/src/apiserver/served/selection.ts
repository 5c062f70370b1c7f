import {
  type FieldMatcher,
  type KubeObject,
  type LabelMatcher,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '@tidegate/kube';
import { badRequest } from '@tidegate/serving';
import type { ResourceDefinition, ServedVersion } from '../resources/types.ts';
import { decode } from '../schema/decode.ts';
import type { Entry } from '../store/types.ts';
import { decodeStored } from './codec.ts';
import type { Served } from './registry.ts';

/** The objects of a resource that a list or watch selects. */
export interface Selection {
  /** True if every object matches, so that none needs to be decoded. */
  all: boolean;
  /** Set if only the object with this name can match, so that a watch can ignore all others. */
  name: string | undefined;
  matches(entry: Entry): boolean;
}

/**
 * What selectors can match, extracted from an object. A watch with a selector reads it for every change of the
 * resource.
 */
interface Facets {
  labels: Record<string, string> | undefined;
  fields: Record<string, string>;
}

/** The selectable values of each entry, computed once. Entries are immutable, so the values never change. */
const facetsOf = new WeakMap<ResourceDefinition, WeakMap<Entry, Facets>>();

/** Parses labelSelector and fieldSelector. Throws a 400 error for invalid selectors and unsupported fields. */
export function parseSelection({ definition: served, version }: Served, query: URLSearchParams): Selection {
  // The fields of the version replace those of the definition.
  const definition = version.selectableFields === undefined ? served : withFields(served, version);
  const labels = parse(() => parseLabelSelector(query.get('labelSelector') ?? ''));
  const fields = parse(() => parseFieldSelector(query.get('fieldSelector') ?? ''));
  checkFieldLabels(definition, fields);
  if (labels.empty && fields.empty) return { all: true, name: undefined, matches: () => true };
  return {
    all: false,
    name: fields.exactValueOf('metadata.name'),
    matches: (entry) => matches(definition, labels, fields, entry),
  };
}

const definitions = new WeakMap<ServedVersion, ResourceDefinition>();

function withFields(definition: ResourceDefinition, version: ServedVersion): ResourceDefinition {
  const known = definitions.get(version);
  if (known !== undefined) return known;
  const made = { ...definition, selectableFields: version.selectableFields };
  definitions.set(version, made);
  return made;
}

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof SelectorError) throw badRequest(error.message);
    throw error;
  }
}

function matches(
  definition: ResourceDefinition,
  labels: LabelMatcher,
  fields: FieldMatcher,
  entry: Entry,
): boolean {
  if (
    !fields.empty &&
    !fields.matches((field) => metadataField(field, entry) ?? facets(definition, entry).fields[field])
  ) {
    return false;
  }
  return labels.empty || labels.matches(facets(definition, entry).labels);
}

const metadataField = (field: string, entry: Entry): string | undefined => {
  if (field === 'metadata.name') return entry.name;
  return field === 'metadata.namespace' ? entry.namespace : undefined;
};

function facets(definition: ResourceDefinition, entry: Entry): Facets {
  // Two definitions can share a storage but have different fields.
  const facetsOfFace = facetsOf.get(definition) ?? new WeakMap<Entry, Facets>();
  const known = facetsOfFace.get(entry);
  if (known !== undefined) return known;
  const object = decodeStored(entry);
  const made = { labels: object.metadata.labels, fields: definition.selectableFields?.(object) ?? {} };
  facetsOfFace.set(entry, made);
  facetsOf.set(definition, facetsOfFace);
  return made;
}

/** An unknown field must be rejected. Treating it as empty would select the wrong objects. */
function checkFieldLabels(definition: ResourceDefinition, selector: FieldMatcher): void {
  if (selector.empty) return;
  const supported = supportedFields(definition);
  for (const { field } of selector.requirements) {
    if (supported.has(field)) continue;
    throw badRequest(
      definition.custom || definition.selectableFields !== undefined
        ? `field label not supported: ${field}`
        : `"${field}" is not a known field selector: only "metadata.name", "metadata.namespace"`,
    );
  }
}

const fieldsOf = new WeakMap<ResourceDefinition, Set<string>>();

/** The fields that a selector can use: those for which an empty object of the kind has values. */
function supportedFields(definition: ResourceDefinition): Set<string> {
  const known = fieldsOf.get(definition);
  if (known !== undefined) return known;
  const fields = new Set(['metadata.name', ...(definition.namespaced ? ['metadata.namespace'] : [])]);
  if (definition.selectableFields !== undefined) {
    for (const field of Object.keys(definition.selectableFields(emptyObject(definition)))) fields.add(field);
  }
  fieldsOf.set(definition, fields);
  return fields;
}

function emptyObject(definition: ResourceDefinition): KubeObject {
  const { kind, storageVersion } = definition;
  const blank: KubeObject = { apiVersion: '', kind, metadata: {} };
  const schema = definition.versions.find((v) => v.name === storageVersion)?.schema;
  if (definition.custom || schema === undefined) return blank;
  return decode(blank, { schema }).object;
}
