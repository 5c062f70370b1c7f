import {
  type FieldMatcher,
  type KubeObject,
  type LabelMatcher,
  ownField,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from '@tidegate/kube';
import { badRequest } from '@tidegate/serving';
import type { ResourceDefinition, ServedVersion } from '../resources/types.ts';
import { decode } from '../schema/decode.ts';
import type { Entry } from '../store/types.ts';
import { decodeStored } from './codec.ts';
import { labelsOfEntry } from './entry-labels.ts';
import type { Served } from './registry.ts';

/** The objects of a resource that a list or watch selects. */
export interface Selection {
  /** True if every object matches, so that none needs to be decoded. */
  all: boolean;
  /** Set if only the object with this name can match, so that a watch can ignore all others. */
  name: string | undefined;
  matches(entry: Entry): boolean;
}

/** The values of the fields that a selector can use. */
type Fields = Record<string, string>;

/**
 * What field selectors can match, extracted from each entry once: a watch with a selector reads it for every change of
 * the resource. Entries are immutable, so the values never change. Labels are kept in entry-labels.ts, because they can
 * be read without decoding the object.
 */
const fieldsOf = new WeakMap<ResourceDefinition, WeakMap<Entry, Fields>>();

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
    !fields.matches(
      (field) => metadataField(field, entry) ?? ownField(fieldsOfEntry(definition, entry), field),
    )
  ) {
    return false;
  }
  return labels.empty || labels.matches(labelsOfEntry(entry));
}

const metadataField = (field: string, entry: Entry): string | undefined => {
  if (field === 'metadata.name') return entry.name;
  return field === 'metadata.namespace' ? entry.namespace : undefined;
};

function fieldsOfEntry(definition: ResourceDefinition, entry: Entry): Fields {
  // Two definitions can share a storage but have different fields.
  const ofDefinition = fieldsOf.get(definition) ?? new WeakMap<Entry, Fields>();
  const known = ofDefinition.get(entry);
  if (known !== undefined) return known;
  const made = definition.selectableFields?.(decodeStored(entry)) ?? {};
  ofDefinition.set(entry, made);
  fieldsOf.set(definition, ofDefinition);
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

const supportedBy = new WeakMap<ResourceDefinition, Set<string>>();

/** The fields that a selector can use: those for which an empty object of the kind has values. */
function supportedFields(definition: ResourceDefinition): Set<string> {
  const known = supportedBy.get(definition);
  if (known !== undefined) return known;
  const fields = new Set(['metadata.name', ...(definition.namespaced ? ['metadata.namespace'] : [])]);
  if (definition.selectableFields !== undefined) {
    for (const field of Object.keys(definition.selectableFields(emptyObject(definition)))) fields.add(field);
  }
  supportedBy.set(definition, fields);
  return fields;
}

function emptyObject(definition: ResourceDefinition): KubeObject {
  const { kind, storageVersion } = definition;
  const blank: KubeObject = { apiVersion: '', kind, metadata: {} };
  const schema = definition.versions.find((v) => v.name === storageVersion)?.schema;
  if (definition.custom || schema === undefined) return blank;
  return decode(blank, { schema }).object;
}
