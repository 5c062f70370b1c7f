import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, ownField } from '@tidegate/kube';
import { conflict, fieldError, invalid, notFound, OBJECT_MODIFIED } from '@tidegate/serving';
import { withoutChangeOfTimesOnly } from '../apply/managed-fields.ts';
import type { ResourceDefinition, Strategy } from '../resources/types.ts';
import { validateObjectMetaUpdate } from '../resources/validation/metadata.ts';
import { currentStored, decodeStored, encodeStored } from '../served/codec.ts';
import type { Served } from '../served/registry.ts';
import type { Entry } from '../store/types.ts';
import {
  admissionOptions,
  type Core,
  contextOf,
  hasSubresource,
  keyOf,
  refOf,
  type WriteOptions,
  type Written,
  writtenAs,
} from './core.ts';
import { recordManager } from './field-managers.ts';

/** An update or a patch of an existing object. */
export interface UpdateRequest {
  served: Served;
  namespace: string;
  name: string;
  /** '' for the object itself; 'status' changes only the status. */
  subresource: string;
  options: WriteOptions;
  /**
   * Computes the new state from the current one, in the storage version. If the result has a resourceVersion, it must
   * be current. Called again after a concurrent write, unless the change requires a particular resourceVersion.
   */
  change(current: KubeObject): KubeObject | Promise<KubeObject>;
  /** The change can be computed from any current state, so a conflict is retried even if a resourceVersion is given. */
  retries?: boolean;
  /** A server-side apply has already set managedFields. */
  managed?: boolean;
}

/** Concurrent writers of one object can delay each other; after this many attempts the client receives a conflict. */
const ATTEMPTS = 6;
/** Subresources that change both spec and status. */
const CHANGES_STATUS_TOO: ReadonlySet<string> = new Set(['approval', 'binding', 'finalize']);

/** Changes an existing object and returns it as stored. If nothing changes, nothing is written. */
export async function updateObject(core: Core, request: UpdateRequest): Promise<Written> {
  for (let attempt = 1; ; attempt++) {
    const entry = core.store.get(keyOf(request.served.definition, request.namespace, request.name));
    if (entry === undefined) throw notFound(refOf(request.served.definition), request.name);
    const outcome = await updateOnce(core, request, entry);
    if (outcome !== 'raced') return outcome;
    if (attempt >= ATTEMPTS) throw conflict(refOf(request.served.definition), request.name, OBJECT_MODIFIED);
    // The competing write is visible to readers only once it is durable. Without waiting, the retry would read the
    // same old object again.
    await core.store.flushed();
  }
}

/**
 * One attempt, computed from `entry`. Admission can take seconds, so the store is locked only at the end: the writer
 * checks that the object is still at the revision of `entry`, and returns `raced` otherwise.
 */
async function updateOnce(core: Core, request: UpdateRequest, entry: Entry): Promise<Written | 'raced'> {
  const { served, options, subresource } = request;
  const { definition } = served;
  const old = await currentStored(definition, entry);
  // Decoding again is faster than copying.
  const copyOfOld = (): KubeObject =>
    definition.convert === undefined ? decodeStored(entry) : structuredClone(old);
  const wanted = await request.change(copyOfOld());
  // For a patch, a changed uid is reported later as an immutable field.
  if (request.retries !== true) checkUid(definition, wanted, old);
  const insists = checkResourceVersion(definition, request.name, wanted, old) && request.retries !== true;

  keepApart(definition, subresource, wanted, old, copyOfOld);
  const attributes = {
    operation: 'UPDATE' as const,
    served,
    subresource,
    namespace: definition.namespaced ? request.namespace : '',
    name: request.name,
    oldObject: old,
    user: options.user,
    dryRun: options.dryRun,
    options: admissionOptions(request.retries === true ? 'PatchOptions' : 'UpdateOptions', options),
    warn: options.warn,
  };
  const object = await core.admission.mutate({ ...attributes, object: wanted });
  definition.strategy.defaults?.(object);
  // Repeated, because a webhook may have changed the part that this endpoint must not change.
  keepApart(definition, subresource, object, old, copyOfOld);
  keepServerFields(object, old);
  const view = subresource === '' ? definition.strategy : ownField(definition.subresources, subresource);
  view?.prepareForUpdate?.(object, old, contextOf(core, options));
  // A binding is set by the scheduler and does not change the desired state.
  if (definition.generation && subresource !== 'binding' && desiredStateDiffers(definition, object, old)) {
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
  }
  if (request.managed !== true) recordManager(core, served, old, object, options, subresource);
  check(served, subresource, object, old);
  for (const warning of definition.strategy.warnings?.(object, old) ?? []) options.warn(warning);
  await core.admission.validate({ ...attributes, object });
  const release = core.admission.reserve({ ...attributes, object });
  try {
    if (options.dryRun) return { object, entry: undefined };
    return await store(core, request, definition.pruneForStorage?.(object) ?? object, old, entry, insists);
  } finally {
    release();
  }
}

/** The client refers to another object with the same name. The words are those of kube-apiserver's storage. */
function checkUid(definition: ResourceDefinition, wanted: KubeObject, old: KubeObject): void {
  const { uid = '', name = '', namespace } = wanted.metadata;
  if (uid === '' || uid === old.metadata.uid) return;
  const key = ['/registry', definition.plural, namespace, name]
    .filter((part) => part !== undefined)
    .join('/');
  throw conflict(
    refOf(definition),
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${old.metadata.uid}`,
  );
}

/** Returns true if the client named a resourceVersion. A concurrent write is then a conflict and is not retried. */
function checkResourceVersion(
  definition: ResourceDefinition,
  name: string,
  wanted: KubeObject,
  old: KubeObject,
): boolean {
  const version = wanted.metadata.resourceVersion ?? '';
  if (version === '' || version === '0') {
    if (definition.requiresResourceVersion === true) {
      throw invalid(definition, name, [
        fieldError.invalid('metadata.resourceVersion', 0, 'must be specified for an update'),
      ]);
    }
    return false;
  }
  if (version !== old.metadata.resourceVersion) throw conflict(refOf(definition), name, OBJECT_MODIFIED);
  return true;
}

/** An update of the object cannot change the status, and an update of the status cannot change anything else. */
function keepApart(
  definition: ResourceDefinition,
  subresource: string,
  object: KubeObject,
  old: KubeObject,
  copyOfOld: () => KubeObject,
): void {
  if (subresource === 'status') {
    const { status, metadata } = object;
    for (const key of Object.keys(object)) delete object[key];
    Object.assign(object, copyOfOld());
    if (status === undefined) delete object.status;
    else object.status = status;
    if (!definition.custom) {
      const { labels, ...rest } = metadata;
      object.metadata = { ...rest, ...(old.metadata.labels && { labels: { ...old.metadata.labels } }) };
    }
    object.metadata.managedFields = metadata.managedFields;
    if (object.metadata.managedFields === undefined) delete object.metadata.managedFields;
    return;
  }
  if (!CHANGES_STATUS_TOO.has(subresource) && hasSubresource(definition, 'status')) {
    if (old.status === undefined) delete object.status;
    else object.status = old.status;
  }
}

/** Fields that clients may send but cannot change. */
function keepServerFields(object: KubeObject, old: KubeObject): void {
  const { metadata } = object;
  // Without a resourceVersion, the client accepts any current version. A given one was checked before.
  metadata.resourceVersion = old.metadata.resourceVersion;
  metadata.uid = (metadata.uid ?? '') === '' ? old.metadata.uid : metadata.uid;
  metadata.creationTimestamp = old.metadata.creationTimestamp;
  copyOrDelete(metadata, old.metadata, 'generation');
  copyOrDelete(metadata, old.metadata, 'deletionTimestamp');
  copyOrDelete(metadata, old.metadata, 'deletionGracePeriodSeconds');
  copyOrDelete(metadata, old.metadata, 'namespace');
}

function copyOrDelete<T extends object, K extends keyof T>(to: T, from: T, key: K): void {
  if (from[key] === undefined) delete to[key];
  else to[key] = from[key];
}

/**
 * Everything except metadata and status counts as desired state, because some kinds have no `spec`. A change
 * increments metadata.generation, which controllers compare with status.observedGeneration.
 */
function desiredStateDiffers(definition: ResourceDefinition, object: KubeObject, old: KubeObject): boolean {
  const ignored = new Set(['metadata', 'apiVersion', 'kind']);
  if (hasSubresource(definition, 'status')) ignored.add('status');
  for (const key of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (!ignored.has(key) && !isDeepStrictEqual(object[key], old[key])) return true;
  }
  return false;
}

function check(
  { definition, version }: Served,
  subresource: string,
  object: KubeObject,
  old: KubeObject,
): void {
  const strategy: Strategy = version.strategy ?? definition.strategy;
  // The rules of a version apply to the object in that version.
  const before = version.strategy === undefined ? old : (version.fromStorage?.(old) ?? old);
  const errors = validateObjectMetaUpdate(object.metadata, old.metadata);
  if (subresource === 'status') errors.push(...(strategy.validateStatusUpdate?.(object, before) ?? []));
  else {
    errors.push(...(strategy.validate?.(object, before) ?? []));
    // Handlers can change fields that are otherwise immutable: a binding sets the node of a pod.
    if (ownField(definition.subresources, subresource)?.handle === undefined)
      errors.push(...(strategy.validateUpdate?.(object, old) ?? []));
  }
  if (errors.length > 0) throw invalid(definition, object.metadata.name ?? '', errors);
}

async function store(
  core: Core,
  request: UpdateRequest,
  object: KubeObject,
  old: KubeObject,
  entry: Entry,
  insists: boolean,
): Promise<Written | 'raced'> {
  const { definition } = request.served;
  const vanishes = isFullyReleased(object);
  const unchanged = !vanishes && isUnchanged(withoutChangeOfTimesOnly(old, object), old);
  try {
    const written = await core.store.write(
      keyOf(definition, request.namespace, request.name),
      (current, revision) => {
        if (current === undefined) throw notFound(refOf(definition), request.name);
        // The result was computed from `entry`. If another write came first, it would be lost.
        if (current.revision !== entry.revision) throw new Raced();
        if (unchanged) return { type: 'keep' };
        return { type: vanishes ? 'delete' : 'put', value: encodeStored(definition, object, revision) };
      },
    );
    if (vanishes) definition.strategy.afterDelete?.(object);
    if (written === undefined) return { object, entry: undefined };
    return writtenAs(unchanged ? old : object, written);
  } catch (error) {
    if (!(error instanceof Raced)) throw error;
    if (insists) throw conflict(refOf(definition), request.name, OBJECT_MODIFIED);
    return 'raced';
  }
}

class Raced extends Error {}

/** A deleted object is removed with its last finalizer. A namespace has a second list of finalizers in its spec. */
export function isFullyReleased(object: KubeObject): boolean {
  const { metadata } = object;
  const namespaceFinalizers =
    object.kind === 'Namespace' && object.apiVersion === 'v1'
      ? ((object.spec as { finalizers?: string[] } | undefined)?.finalizers ?? [])
      : [];
  return (
    metadata.deletionTimestamp !== undefined &&
    (metadata.finalizers ?? []).length === 0 &&
    namespaceFinalizers.length === 0 &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0
  );
}

function isUnchanged(object: KubeObject, old: KubeObject): boolean {
  const strip = (o: KubeObject): KubeObject => {
    const { resourceVersion: _, ...metadata } = o.metadata;
    return { ...o, metadata };
  };
  return isDeepStrictEqual(strip(object), strip(old));
}
