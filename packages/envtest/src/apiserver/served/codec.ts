/**
 * Encodes and decodes stored objects. Objects are stored in the form in which they are sent, with kind and apiVersion
 * first for built-in kinds. A get, a list and a watch event therefore only copy bytes:
 *
 *   stored:    {"kind":"Pod","apiVersion":"v1","metadata":{...},"spec":{...}}
 *   in a list: {"metadata":{...},"spec":{...}}      (items of built-in lists have neither kind nor apiVersion)
 */
import { apiVersionOf, type KubeObject, type ObjectMeta, setField } from '@tidegate/kube';
import { invalid } from '@tidegate/serving';
import type { ResourceDefinition, ServedVersion } from '../resources/types.ts';
import type { Entry } from '../store/types.ts';
import type { Served } from './registry.ts';

/** The order of the fields of metadata in responses of kube-apiserver. Other fields follow. */
const META_ORDER = [
  'name',
  'generateName',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'labels',
  'annotations',
  'ownerReferences',
  'finalizers',
  'managedFields',
];

/** Encodes the object for storage and for clients, with the revision of the write as its resourceVersion. */
export function encodeStored(definition: ResourceDefinition, object: KubeObject, revision: number): Buffer {
  const metadata = { ...object.metadata, resourceVersion: String(revision) };
  return Buffer.from(JSON.stringify(ordered(definition.custom, { ...object, metadata })), 'utf8');
}

function ordered(custom: boolean, object: KubeObject): unknown {
  if (custom) return sortKeys(object);
  const { kind, apiVersion, metadata, ...rest } = object;
  return { kind, apiVersion, metadata: orderMeta(metadata), ...rest };
}

function orderMeta(metadata: ObjectMeta): ObjectMeta {
  const out: Record<string, unknown> = {};
  const source = metadata as Record<string, unknown>;
  for (const key of META_ORDER) if (source[key] !== undefined) out[key] = source[key];
  for (const key of Object.keys(source)) if (!Object.hasOwn(out, key)) setField(out, key, source[key]);
  return out as ObjectMeta;
}

/** Custom resources have no declared field order, so kube-apiserver sorts their fields. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (value === null || typeof value !== 'object') return value;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort())
    setField(out, key, sortKeys((value as Record<string, unknown>)[key]));
  return out;
}

/** Decodes the stored bytes into a new object in the storage version. */
export const decodeStored = (entry: Entry): KubeObject =>
  JSON.parse(entry.value.toString('utf8')) as KubeObject;

/** True if the stored bytes are what clients of this version get. */
export function isCurrent({ definition, version }: Served, entry: Entry): boolean {
  if (version.name !== definition.storageVersion) return false;
  return (
    version.fromStorage === undefined || entry.revision >= (version.currentFrom ?? Number.POSITIVE_INFINITY)
  );
}

/** Converts an object from a served version to the storage version. Use `storable` if there may be a webhook. */
export function toStorage(served: Served, object: KubeObject): KubeObject {
  const { definition, version } = served;
  const converted = version.toStorage?.(object) ?? object;
  return { ...converted, apiVersion: storageApiVersion(definition), kind: definition.kind };
}

/** Converts a stored object to a served version. Use `readable` if there may be a webhook. */
export function fromStorage(served: Served, object: KubeObject): KubeObject {
  const { definition, version } = served;
  const converted = version.fromStorage?.(object) ?? object;
  return { ...converted, apiVersion: apiVersionOf(definition.group, version.name) };
}

/** Converts stored objects to a served version, with the webhook of the resource if it has one. */
export async function readable(served: Served, objects: readonly KubeObject[]): Promise<KubeObject[]> {
  const { definition, version } = served;
  const apiVersion = apiVersionOf(definition.group, version.name);
  const converted = (await definition.convert?.(objects, apiVersion)) ?? objects;
  return converted.map((object) => fromStorage(served, object));
}

/** The same for one object. */
export async function readableOne(served: Served, object: KubeObject): Promise<KubeObject> {
  if (served.definition.convert === undefined) return fromStorage(served, object);
  return (await readable(served, [object]))[0] as KubeObject;
}

/** Converts an object of a served version to the storage version, with the webhook of the resource if it has one. */
export async function storable(served: Served, object: KubeObject): Promise<KubeObject> {
  const { definition, version } = served;
  if (definition.convert === undefined || version.name === definition.storageVersion) {
    return toStorage(served, object);
  }
  const errors = version.unconverted?.validate?.(object) ?? [];
  if (errors.length > 0) throw invalid(definition, object.metadata.name ?? '', errors);
  const [converted] = await definition.convert([object], storageApiVersion(definition));
  return converted as KubeObject;
}

/** A stored object in the storage version. It may have been stored when another version was the storage version. */
export async function currentStored(definition: ResourceDefinition, entry: Entry): Promise<KubeObject> {
  const object = decodeStored(entry);
  if (definition.convert === undefined) return object;
  const [converted] = await definition.convert([object], storageApiVersion(definition));
  return converted as KubeObject;
}

export const storageApiVersion = (definition: ResourceDefinition): string =>
  apiVersionOf(definition.storageGroup ?? definition.group, definition.storageVersion);

/** The bytes of an entry in a served version: the stored bytes if no conversion is needed. */
export function entryBytes(served: Served, entry: Entry): Buffer {
  if (isCurrent(served, entry)) return entry.value;
  const object = fromStorage(served, decodeStored(entry));
  return Buffer.from(JSON.stringify(ordered(served.definition.custom, object)), 'utf8');
}

const BRACE = Buffer.from('{');

/** The bytes of an entry as an item of a list. For built-in kinds, the leading kind and apiVersion are cut off. */
export function listItem(served: Served, entry: Entry): Buffer[] {
  const bytes = entryBytes(served, entry);
  if (served.definition.custom) return [bytes];
  return [BRACE, bytes.subarray(itemOffset(served))];
}

const offsets = new WeakMap<ServedVersion, number>();

function itemOffset(served: Served): number {
  const known = offsets.get(served.version);
  if (known !== undefined) return known;
  const apiVersion = apiVersionOf(served.definition.group, served.version.name);
  const head = `{"kind":${JSON.stringify(served.definition.kind)},"apiVersion":${JSON.stringify(apiVersion)},`;
  const offset = Buffer.byteLength(head);
  offsets.set(served.version, offset);
  return offset;
}
