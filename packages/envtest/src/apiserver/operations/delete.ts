import type { KubeObject } from '@tidegate/kube';
import { ApiError, conflict, fieldError, invalid, notFound } from '@tidegate/serving';
import type { ResourceDefinition } from '../resources/types.ts';
import { decodeStored, encodeStored } from '../served/codec.ts';
import type { Served } from '../served/registry.ts';
import type { Entry, WriteResult } from '../store/types.ts';
import { type Core, keyOf, refOf, timestamp, type WriteOptions, type Written, writtenAs } from './core.ts';
import { isFullyReleased } from './update.ts';

/** What happens to the dependents of a deleted object; see collector/garbage.ts. */
export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

/** Without a propagationPolicy, the finalizers stay as they are, which means background deletion for most objects. */
export interface DeleteOptions {
  gracePeriodSeconds?: number;
  propagationPolicy?: PropagationPolicy;
  preconditions?: { uid?: string; resourceVersion?: string };
}

export interface DeleteRequest {
  served: Served;
  namespace: string;
  name: string;
  delete: DeleteOptions;
  options: WriteOptions;
}

/** `gone` means removed. Otherwise the object is marked and waits for its finalizers or its grace period. */
export interface Deleted extends Written {
  gone: boolean;
}

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';

/**
 * Deletes an object, or marks it for deletion. The outcome depends on three things that can hold an object back:
 * finalizers, the grace period of a pod, and `spec.finalizers` of a namespace. If none of them applies, the object is
 * removed at once. Otherwise it gets a deletionTimestamp, and the update that releases it removes it, see
 * `isFullyReleased`. Deleting it again is allowed and changes nothing, except that the grace period can become
 * shorter.
 */
export async function deleteObject(core: Core, request: DeleteRequest): Promise<Deleted> {
  const { served, options } = request;
  const { definition } = served;
  const key = keyOf(definition, request.namespace, request.name);
  checkOptions(request.delete);
  // The object may have just been written. Without waiting, admission would see an older state or none.
  await core.store.flushed();
  const entry = core.store.get(key);
  if (entry === undefined) throw notFound(refOf(definition), request.name);
  const old = decodeStored(entry);
  checkPreconditions(definition, old, request.delete);
  await core.admission.validate({
    operation: 'DELETE',
    served,
    subresource: '',
    namespace: key.namespace,
    name: request.name,
    object: undefined,
    oldObject: old,
    user: options.user,
    dryRun: options.dryRun,
    options: { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1', ...request.delete },
    warn: options.warn,
  });

  let object = old;
  let gone = false;
  const decide = (current: Entry, revision: number): WriteResult => {
    object = decodeStored(current);
    checkPreconditions(definition, object, request.delete);
    const waited = object.metadata.deletionTimestamp !== undefined;
    const changed = markForDeletion(core, definition, object, request.delete);
    gone = isFullyReleased(object);
    // An object that is removed immediately was never marked, so watchers receive its last stored state.
    if (gone && !waited) object = decodeStored(current);
    if (gone) return { type: 'delete', value: encodeStored(definition, object, revision) };
    return changed ? { type: 'put', value: encodeStored(definition, object, revision) } : { type: 'keep' };
  };
  if (options.dryRun) {
    decide(entry, entry.revision);
    return { object, gone, entry: undefined };
  }
  const written = await core.store.write(key, (current, revision) => {
    if (current === undefined) throw notFound(refOf(definition), request.name);
    return decide(current, revision);
  });
  if (gone) definition.strategy.afterDelete?.(object);
  return written === undefined ? { object, gone, entry: undefined } : { ...writtenAs(object, written), gone };
}

function checkOptions(options: DeleteOptions): void {
  const policy = options.propagationPolicy;
  if (policy === undefined || policy === 'Orphan' || policy === 'Background' || policy === 'Foreground')
    return;
  throw invalid({ group: 'meta.k8s.io', kind: 'DeleteOptions' }, '', [
    fieldError.notSupported('propagationPolicy', policy, ['Foreground', 'Background', 'Orphan', 'nil']),
  ]);
}

function checkPreconditions(
  definition: ResourceDefinition,
  object: KubeObject,
  options: DeleteOptions,
): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = object;
  // kube-apiserver names the kind here, not the resource.
  const ref = { group: definition.group, resource: definition.kind };
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      ref,
      metadata.name ?? '',
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      ref,
      metadata.name ?? '',
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/** Sets deletionTimestamp, grace period and finalizers. Returns whether anything changed. */
function markForDeletion(
  core: Core,
  definition: ResourceDefinition,
  object: KubeObject,
  options: DeleteOptions,
): boolean {
  const { metadata } = object;
  const grace = gracePeriod(definition, object, options);
  let changed = setPropagation(object, options.propagationPolicy);
  if (metadata.deletionTimestamp === undefined) {
    metadata.deletionTimestamp = timestamp(new Date(core.now().getTime() + grace * 1000));
    metadata.deletionGracePeriodSeconds = grace;
    if (metadata.generation !== undefined && definition.generation) metadata.generation++;
    changed = true;
  } else if (grace < (metadata.deletionGracePeriodSeconds ?? 0)) {
    // A second delete can only shorten the grace period. A kubelet sends 0 when the pod has terminated.
    metadata.deletionTimestamp = timestamp(new Date(core.now().getTime() + grace * 1000));
    metadata.deletionGracePeriodSeconds = grace;
    changed = true;
  }
  if (definition.storage === 'namespaces') changed = terminateNamespace(object) || changed;
  return changed;
}

/** Only pods that are bound to a node have a grace period. */
function gracePeriod(definition: ResourceDefinition, object: KubeObject, options: DeleteOptions): number {
  if (definition.storage !== 'pods') return 0;
  const spec = object.spec as { nodeName?: string; terminationGracePeriodSeconds?: number };
  const status = object.status as { phase?: string } | undefined;
  if ((spec.nodeName ?? '') === '' || status?.phase === 'Failed' || status?.phase === 'Succeeded') return 0;
  const wanted = options.gracePeriodSeconds ?? spec.terminationGracePeriodSeconds ?? 30;
  return wanted < 0 ? 1 : wanted;
}

/**
 * `Orphan` and `Foreground` are stored as finalizers, because the garbage collector does the work later and must find
 * the policy even after a restart. `Background` needs no finalizer: the object goes first, its dependents follow.
 */
function setPropagation(object: KubeObject, policy: PropagationPolicy | undefined): boolean {
  if (policy === undefined) return false;
  const before = object.metadata.finalizers ?? [];
  const after = before.filter((f) => f !== ORPHAN && f !== FOREGROUND);
  if (policy === 'Orphan') after.push(ORPHAN);
  if (policy === 'Foreground') after.push(FOREGROUND);
  // The finalizers are unchanged.
  if (after.length === before.length && after.every((f, i) => f === before[i])) return false;
  if (after.length === 0) delete object.metadata.finalizers;
  else object.metadata.finalizers = after;
  return true;
}

/** spec.finalizers keeps a namespace until its contents are deleted. */
function terminateNamespace(object: KubeObject): boolean {
  const status = (object.status ?? {}) as { phase?: string };
  if (status.phase === 'Terminating') return false;
  object.status = { ...status, phase: 'Terminating' };
  return true;
}

export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.status.code === 404;
