import type { KubeObject } from '@tidegate/kube';
import {
  ApiError,
  badRequest,
  fieldError,
  invalid,
  printJson,
  type ResourceRequest,
  unsupportedMediaType,
} from '@tidegate/serving';
import { applyConfiguration } from '../apply/server-side-apply.ts';
import { keyOf, type WriteOptions, type Written } from '../operations/core.ts';
import { createObject } from '../operations/create.ts';
import { managedApiVersion, resetFields, trackedSchema } from '../operations/field-managers.ts';
import { updateObject } from '../operations/update.ts';
import { formatGoValue } from '../patch/go-format.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
import { duplicateKeys, JsonSyntaxError, parseJson } from '../schema/json.ts';
import { readableOne, storable, toStorage } from '../served/codec.ts';
import type { Served } from '../served/registry.ts';
import { mediaType, readBody } from './body.ts';
import { type Call, targetOf } from './call.ts';
import { conform, conformPatched, type FieldChecks, readApplyBody } from './decode.ts';
import { isOtherKind, otherKind, withKind } from './kind.ts';
import { answer, optionsOf } from './write.ts';
import { fieldValidation } from './write-options.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const APPLY_PATCH = 'application/apply-patch+yaml';
/** Limits retries when other clients create and delete the object at the same time. */
const APPLY_ATTEMPTS = 6;

/**
 * Serves all four patch types. A patch is applied to the current object and is applied again if another write comes
 * first, so it conflicts only if it contains a resourceVersion.
 */
export async function servePatch(call: Call): Promise<void> {
  const type = mediaType(call.exchange.request);
  checkPatchType(call.served, type);
  const body = await readBody(call.exchange.request);
  if (type === APPLY_PATCH) return serveApply(call, body);

  const { core, served, info, query } = call;
  const options = optionsOf(call, 'PatchOptions');
  const checks = { fieldValidation: fieldValidation('PatchOptions', query), warn: options.warn };
  if (query.has('force')) {
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [
      fieldError.forbidden('force', 'may not be specified for non-apply patch'),
    ]);
  }
  const patch = readPatch(type, body.toString('utf8'), checks);
  const updated = await updateObject(core, {
    ...targetOf(call),
    options,
    retries: true,
    change: async (current) => {
      const patched = applyPatch(served, await readableOne(served, current), patch, checks);
      checkIdentity(patched, info);
      const object = await storable(served, patched);
      served.definition.strategy.defaults?.(object);
      return object;
    },
  });
  await answer(call, 200, updated);
}

/** The patch types of a resource. Strategic merge needs merge keys, which only built-in kinds declare. */
export function checkPatchType(served: Served, type: string): void {
  const accepted = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH].filter(
    (t) => !(served.definition.custom && t === STRATEGIC_MERGE_PATCH),
  );
  if (accepted.includes(type)) return;
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

/** A parsed patch. It is parsed once and may be applied several times. */
export interface Patch {
  type: string;
  document: unknown;
  /** For example `duplicate field "spec.replicas"`. */
  problems: string[];
}

export function readPatch(type: string, text: string, { fieldValidation }: FieldChecks): Patch {
  try {
    const document = parseJson(text);
    const duplicates = fieldValidation === 'Ignore' ? [] : duplicateKeys(text);
    return { type, document, problems: duplicates.map((path) => `duplicate field "${path}"`) };
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badRequest(
      type === STRATEGIC_MERGE_PATCH ? error.message : `error decoding patch: ${error.message}`,
    );
  }
}

/** Applies the patch and checks the result like a request body. */
export function applyPatch(
  served: Served,
  current: KubeObject,
  { type, document, problems }: Patch,
  checks: FieldChecks,
): KubeObject {
  if (type === STRATEGIC_MERGE_PATCH) {
    const object = applyStrategicMergePatch(current, document, served.version.schema);
    const shown = () => formatGoValue(document);
    return conformPatched(served, { object, shown, words: 'converter', problems }, checks);
  }
  const patched =
    type === JSON_PATCH ? applyJsonPatch(current, document) : applyMergePatch(current, document);
  const shown = () => printJson(patched);
  return conformPatched(served, { object: patched, shown, words: 'json', problems }, checks);
}

function checkIdentity({ metadata }: KubeObject, { name, namespace }: ResourceRequest): void {
  const given = metadata.name ?? '';
  if (given === '') {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (given !== name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
  if ((metadata.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

/** Server-side apply. Creates the object if it does not exist. */
async function serveApply(call: Call, body: Buffer): Promise<void> {
  const { core, served, info, query } = call;
  const { definition } = served;
  const options = optionsOf(call, 'PatchOptions');
  if ((query.get('fieldManager') ?? '') === '') {
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [
      fieldError.required('fieldManager', 'is required for apply patch'),
    ]);
  }
  const applied = readApplied(call, body, options);
  const creates = info.subresource === '';
  for (let attempt = 1; ; attempt++) {
    const exists = core.store.get(keyOf(definition, info.namespace, info.name)) !== undefined;
    try {
      if (exists || !creates) return await answer(call, 200, await applyToExisting(call, applied, options));
      const object = await applyTo(call, undefined, applied, options);
      const request = { served, object, namespace: info.namespace, options, managed: true };
      return await answer(call, 201, await createObject(core, request));
    } catch (error) {
      // Another client created or deleted the object in the meantime. Its write is visible once it is durable.
      const raced = isReason(error, exists ? 'NotFound' : 'AlreadyExists');
      if (!raced || !creates || attempt === APPLY_ATTEMPTS) throw error;
      await core.store.flushed();
    }
  }
}

/** Versions of a custom resource can have different fields, so an apply works in the version of the request. */
const appliedForm = async (served: Served, stored: KubeObject): Promise<KubeObject> =>
  served.definition.custom ? readableOne(served, stored) : stored;

const isReason = (error: unknown, reason: string): boolean =>
  error instanceof ApiError && error.status.reason === reason;

const applyToExisting = (call: Call, applied: KubeObject, options: WriteOptions): Promise<Written> =>
  updateObject(call.core, {
    ...targetOf(call),
    options,
    retries: true,
    managed: true,
    change: (current) => applyTo(call, current, applied, options),
  });

/** Reads only the fields that the client manages: defaults are not set and unknown fields are not removed. */
function readApplied(call: Call, bytes: Buffer, options: WriteOptions): KubeObject {
  const { served, query, info } = call;
  const { definition } = served;
  const checks = { fieldValidation: fieldValidation('PatchOptions', query), warn: options.warn };
  const given = withKind(served, readApplyBody(definition.kind, bytes, checks));
  if (isOtherKind(served, given)) throw otherKind(served, given);
  const object: KubeObject = { ...given, metadata: { ...given.metadata } };
  object.metadata.name ??= info.name;
  if (definition.namespaced) object.metadata.namespace ??= info.namespace;
  if (object.metadata.name !== info.name) {
    throw badRequest(
      `the name of the object (${object.metadata.name}) does not match the name on the URL (${info.name})`,
    );
  }
  if (object.metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  return served.version.toStorage === undefined ? object : toStorage(served, object);
}

/**
 * The object after the apply, in the storage version and with defaults. Ownership is computed before defaults are
 * set, so that managers do not own fields that they did not apply.
 */
async function applyTo(
  call: Call,
  live: KubeObject | undefined,
  applied: KubeObject,
  options: WriteOptions,
): Promise<KubeObject> {
  const { core, served, info, query } = call;
  const object = applyConfiguration({
    live: live === undefined ? undefined : await appliedForm(served, live),
    applied,
    manager: options.fieldManager,
    force: query.get('force') === 'true',
    apiVersion: managedApiVersion(served),
    kind: served.definition.kind,
    subresource: info.subresource,
    now: core.now(),
    schema: trackedSchema(served),
    resetFields: resetFields(served.definition, info.subresource),
  });
  const stored =
    served.version.toStorage === undefined ? await storable(served, conform(served, object)) : object;
  served.definition.strategy.defaults?.(stored);
  return stored;
}
