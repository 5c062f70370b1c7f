/** Server-side apply (KEP-555): merges a configuration into the live object and tracks the owner of each field. */
import { type JsonMap, jsonEqual, type KubeObject, parseApiVersion } from '@tidegate/kube';
import { ApiError, badRequest } from '@tidegate/serving';
import { type Conflict, conflictError } from './conflict.ts';
import { claimedPaths } from './field-paths.ts';
import { type FieldType, objectType } from './field-type.ts';
import { difference, EMPTY, type FieldSet, intersection, isEmpty, union } from './fieldset.ts';
import { fieldsOfClientSideApply, KUBECTL, updateLastApplied } from './last-applied.ts';
import {
  compareObjects,
  disown,
  recordUpdate,
  type WriteContext,
  withoutNeverOwned,
  withoutReset,
} from './managed-fields.ts';
import {
  decodeManagers,
  encodeManagers,
  identityOf,
  type Manager,
  type Managers,
  timestamp,
} from './managers.ts';
import { mergeApplied } from './merge.ts';
import { prune } from './prune.ts';
import { problemsOf } from './validate.ts';

/** One server-side apply. */
export interface ApplyRequest extends WriteContext {
  /** The stored object; undefined if the apply creates it. */
  live: KubeObject | undefined;
  /** The configuration from the client: only the fields that it manages. */
  applied: KubeObject;
  /** The kind that the endpoint serves. */
  kind: string;
  /** Take fields from other managers instead of failing with a conflict. */
  force: boolean;
}

/** Returns the object to store, with managedFields and without defaults. Throws a 409 error on conflicts. */
export function applyConfiguration(request: ApplyRequest): KubeObject {
  const type = objectType(request.schema);
  requireApplicable(request, type);
  const live: KubeObject = request.live ?? {
    apiVersion: request.apiVersion,
    kind: request.kind,
    metadata: {},
  };
  const managers = managersOf(live, request, type);
  const result = mergeAndOwn(live, managers, request, type);
  return request.manager === KUBECTL ? updateLastApplied(result, request.applied) : result;
}

/**
 * Rejects configurations that cannot be merged: another kind, managedFields, or values that do not fit the schema.
 */
function requireApplicable({ applied, apiVersion, kind }: ApplyRequest, type: FieldType): void {
  const gvk = printGroupVersionKind(applied.apiVersion, applied.kind);
  if (applied.apiVersion !== apiVersion || applied.kind !== kind) {
    throw badRequest(`invalid object type: ${gvk}`);
  }
  const { managedFields, namespace = '', name = '' } = applied.metadata;
  if (managedFields !== undefined && managedFields !== null) {
    throw badRequest('metadata.managedFields must be nil');
  }
  const problems = problemsOf(applied, type);
  if (problems !== undefined) {
    throw applyError(`failed to create typed patch object (${namespace}/${name}; ${gvk}): ${problems}`);
  }
}

/** kube-apiserver answers these errors with status 500 and without a reason. */
const applyError = (message: string, cause?: unknown): ApiError =>
  new ApiError(500, '', message, undefined, cause);

function printGroupVersionKind(apiVersion: string, kind: string): string {
  const { group, version } = parseApiVersion(apiVersion);
  return `${group}/${version}, Kind=${kind}`;
}

/** On the first apply, a manager is created for all existing fields, so that they are not overwritten silently. */
function managersOf(live: KubeObject, request: ApplyRequest, type: FieldType): Managers {
  let managers: Managers;
  try {
    managers = decodeManagers(live.metadata.managedFields, type);
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    throw applyError(`failed to decode managed fields: ${text}`, cause);
  }
  if (managers.size === 0 && request.live !== undefined) {
    recordUpdate(managers, undefined, live, { ...request, manager: 'before-first-apply' });
  }
  return managers;
}

/**
 * The heart of server-side apply:
 *
 * - The applied fields become the fields of the manager; the previous ones are remembered.
 * - The configuration is merged into the live object.
 * - Fields that the manager applied before but not now are pruned, unless another manager owns them.
 * - Every field that this changes and that another manager owns is a conflict. `force` takes it over instead.
 * - Changed and removed fields are removed from all other managers. A field with an equal value becomes shared.
 */
function mergeAndOwn(
  live: KubeObject,
  managers: Managers,
  request: ApplyRequest,
  type: FieldType,
): KubeObject {
  const applier: Manager = {
    manager: request.manager,
    operation: 'Apply',
    apiVersion: request.apiVersion,
    subresource: request.subresource ?? '',
    time: undefined,
    fields: withoutReset(claimedPaths(request.applied, type), request.resetFields),
  };
  const identity = identityOf(applier);
  const previous = managers.get(identity);
  managers.set(identity, { ...applier, time: previous?.time });

  const merged = mergeApplied(live as JsonMap, request.applied, type);
  const owned = [...managers.values()].reduce((all, { fields }) => union(all, fields), EMPTY);
  const object = prune(merged, previous?.fields ?? EMPTY, owned, type) as KubeObject;

  const { changed, removed } = compareObjects(live, object, request);
  const conflicts = request.force ? [] : conflictsWith(managers, changed, identity);
  const open =
    request.manager === KUBECTL ? withoutClientSideApply(conflicts, live, request, type) : conflicts;
  if (open.length > 0) throw conflictError(open);
  disown(managers, union(changed, removed), identity);

  const own = managers.get(identity);
  const fields = own === undefined ? EMPTY : withoutNeverOwned(own.fields);
  if (own === undefined || isEmpty(fields)) managers.delete(identity);
  else {
    // An apply without effect keeps the time, so that the object stays equal and nothing is written.
    const time = jsonEqual(live, object) ? own.time : timestamp(request.now);
    managers.set(identity, { ...own, time, fields });
  }
  return withManagers(object, managers);
}

/**
 * The fields of other managers that the apply changes. Fields with an equal value are not changed, so they do not
 * conflict.
 */
function conflictsWith(managers: Managers, changed: FieldSet, applier: string): Conflict[] {
  const conflicts: Conflict[] = [];
  for (const [identity, manager] of [...managers].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const fields = identity === applier ? EMPTY : intersection(manager.fields, changed);
    if (!isEmpty(fields)) conflicts.push({ manager, fields });
  }
  return conflicts;
}

/** kubectl may change fields that it set with client-side apply before. */
function withoutClientSideApply(
  conflicts: Conflict[],
  live: KubeObject,
  { apiVersion }: ApplyRequest,
  type: FieldType,
): Conflict[] {
  if (conflicts.length === 0) return conflicts;
  const allowed = fieldsOfClientSideApply(live, apiVersion, type);
  return conflicts
    .map(({ manager, fields }) => ({ manager, fields: difference(fields, allowed) }))
    .filter(({ fields }) => !isEmpty(fields));
}

function withManagers(object: KubeObject, managers: Managers): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  const managedFields = encodeManagers(managers);
  return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}
