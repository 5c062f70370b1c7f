/** Keeps `metadata.managedFields` consistent with create, update and patch. Runs on every write. */
import { type JsonMap, jsonEqual, type KubeObject, type ManagedFieldsEntry } from '@tidegate/kube';
import type { Schema } from '../schema/types.ts';
import { type Comparison, compare } from './compare.ts';
import { type FieldType, objectType } from './field-type.ts';
import { difference, EMPTY, type FieldSet, isEmpty, recursiveDifference, setOf, union } from './fieldset.ts';
import {
  capUpdaters,
  decodeManagers,
  dropOwnersOfNothing,
  encodeManagers,
  identityOf,
  type Manager,
  type Managers,
  timestamp,
} from './managers.ts';
import { fieldElement } from './path-element.ts';

/** What ownership depends on, for every kind of write. */
export interface WriteContext {
  /** The `fieldManager` of the request, or a name that `managerName` derives from the user agent. */
  manager: string;
  /** The API version of the request. */
  apiVersion: string;
  /** '' for the resource itself. */
  subresource?: string;
  now: Date;
  schema: Schema;
  /**
   * Paths that this endpoint never changes, whatever the client sends, for example `status` or
   * `metadata.ownerReferences`.
   */
  resetFields?: readonly string[];
}

/** A create, update or patch other than server-side apply. */
export interface UpdateRequest extends WriteContext {
  /** The stored object; undefined if the write creates it. */
  live: KubeObject | undefined;
  /**
   * The object that is about to be stored, before admission, with the managedFields from the client. An empty list is a
   * request to clear all managers, so decoding must not have dropped it.
   */
  updated: KubeObject;
}

/** The managedFields for the updated object; undefined for none. */
export function trackUpdate(request: UpdateRequest): ManagedFieldsEntry[] | undefined {
  const { live, updated } = request;
  const type = objectType(request.schema);
  const managers = managersToStartFrom(live, updated, request.subresource ?? '', type);
  // If all managers were cleared, the object is tracked again only after the next apply.
  if (managers.size === 0 && live !== undefined) return undefined;
  recordUpdate(managers, live, updated, request);
  return encodeManagers(managers);
}

/** Clients may send managedFields or omit them. Malformed managedFields count as omitted. */
function managersToStartFrom(
  live: KubeObject | undefined,
  updated: KubeObject,
  subresource: string,
  type: FieldType,
): Managers {
  if (subresource === '') {
    const sent = updated.metadata.managedFields;
    if (asksForReset(sent)) return new Map();
    const managers = decodeOrNone(sent, type);
    if (managers.size > 0) return managers;
  }
  return decodeOrNone(live?.metadata.managedFields, type);
}

function decodeOrNone(entries: ManagedFieldsEntry[] | undefined, type: FieldType): Managers {
  try {
    return decodeManagers(entries, type);
  } catch {
    // The API defines that malformed managedFields are ignored, so these managers own nothing.
    return new Map();
  }
}

/** True for an empty list and for a list with one empty entry. */
function asksForReset(entries: ManagedFieldsEntry[] | undefined | null): boolean {
  if (entries === undefined || entries === null) return false;
  const [first] = entries;
  return first === undefined || (entries.length === 1 && Object.keys(first).length === 0);
}

/** Makes the writer the owner of all changed fields and removes them from all other managers. Modifies `managers`. */
export function recordUpdate(
  managers: Managers,
  live: KubeObject | undefined,
  updated: KubeObject,
  context: WriteContext,
): void {
  const { changed, removed } = compareObjects(live, updated, context);
  const writer: Manager = {
    manager: context.manager === '' ? 'unknown' : context.manager,
    operation: 'Update',
    apiVersion: context.apiVersion,
    subresource: context.subresource ?? '',
    time: timestamp(context.now),
    fields: difference(changed, NEVER_OWNED),
  };
  disown(managers, union(changed, removed));
  if (!isEmpty(writer.fields)) {
    const identity = identityOf(writer);
    const kept = managers.get(identity)?.fields ?? EMPTY;
    managers.set(identity, { ...writer, fields: union(kept, writer.fields) });
  }
  capUpdaters(managers);
}

/**
 * Removes the paths from all managers except one. A write takes ownership away from all previous owners of the field.
 */
export function disown(managers: Managers, paths: FieldSet, except?: string): void {
  for (const [identity, manager] of managers) {
    if (identity === except) continue;
    const fields = difference(manager.fields, paths);
    if (fields !== manager.fields) managers.set(identity, { ...manager, fields });
  }
  dropOwnersOfNothing(managers);
}

/** The differences of a write, without managedFields and without the fields that the endpoint resets. */
export function compareObjects(
  before: KubeObject | undefined,
  after: KubeObject,
  { schema, resetFields }: Pick<WriteContext, 'schema' | 'resetFields'>,
): Comparison {
  const { changed, removed } = compare(trackedPart(before), trackedPart(after), objectType(schema));
  return { changed: withoutReset(changed, resetFields), removed: withoutReset(removed, resetFields) };
}

/** Removes the fields that the endpoint resets, including everything below them. */
export function withoutReset(set: FieldSet, resetFields: readonly string[] = []): FieldSet {
  if (resetFields.length === 0) return set;
  return recursiveDifference(set, setOf(resetFields.map((path) => path.split('.').map(fieldElement))));
}

/** The object without managedFields, which do not describe themselves. */
function trackedPart(object: KubeObject | undefined): JsonMap {
  if (object === undefined) return {};
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Fields that the server sets or that never change. They have no owner. */
const NEVER_OWNED: FieldSet = {
  'f:apiVersion': {},
  'f:kind': {},
  'f:metadata': {
    '.': {},
    'f:clusterName': {},
    'f:creationTimestamp': {},
    'f:generation': {},
    'f:managedFields': {},
    'f:name': {},
    'f:namespace': {},
    'f:resourceVersion': {},
    'f:selfLink': {},
    'f:uid': {},
  },
};

export const withoutNeverOwned = (set: FieldSet): FieldSet => difference(set, NEVER_OWNED);

/**
 * Returns the live object if the updated one differs only in the times of its managers, so that the store skips the
 * write. For example, applying `cpu: 0.1` over a stored `100m` looks like a change until the value is decoded.
 */
export function withoutChangeOfTimesOnly(live: KubeObject, updated: KubeObject): KubeObject {
  const before = live.metadata.managedFields ?? [];
  const after = updated.metadata.managedFields ?? [];
  const sameOwners =
    before.length === after.length &&
    before.every((entry, i) => jsonEqual({ ...entry, time: '' }, { ...after[i], time: '' }));
  return sameOwners && jsonEqual(trackedPart(live), trackedPart(updated)) ? live : updated;
}

const MAX_MANAGER_BYTES = 128;

/** Name of the manager if the request does not set one: the program in the user agent. */
export function managerName(fieldManager: string, userAgent: string): string {
  if (fieldManager !== '') return fieldManager;
  const program = userAgent.split('/', 1)[0] ?? '';
  let name = '';
  for (const character of program) {
    if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) continue;
    if (Buffer.byteLength(name + character) > MAX_MANAGER_BYTES) break;
    name += character;
  }
  return name === '' ? 'unknown' : name;
}
