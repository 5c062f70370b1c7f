import type { KubeObject } from '../../../kube/object.ts';
import { applyConfiguration } from '../apply/server-side-apply.ts';
import { fromStorage, toStorage } from '../codec.ts';
import { ApiError, badRequest, invalid, unsupportedMediaType } from '../errors.ts';
import { fieldError } from '../field-error.ts';
import { keyOf, type WriteOptions } from '../operations/core.ts';
import { createObject } from '../operations/create.ts';
import { managedApiVersion, resetFields, storageSchema } from '../operations/field-managers.ts';
import { updateObject } from '../operations/update.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
import type { Served } from '../registry.ts';
import { JsonSyntaxError, parseJson } from '../schema/json.ts';
import { mediaType, readBody } from './body.ts';
import type { Call } from './call.ts';
import { conform, readBodyAs } from './decode.ts';
import { answer, optionsOf } from './write.ts';
import { fieldValidation } from './write-options.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const APPLY_PATCH = 'application/apply-patch+yaml';

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
  const patch = readPatch(type, body.toString('utf8'));
  const updated = await updateObject(core, {
    served,
    namespace: info.namespace,
    name: info.name,
    subresource: info.subresource,
    options,
    retries: true,
    change: (current) => {
      const patched = applyPatch(served, type, fromStorage(served, current), patch);
      checkIdentity(patched, info.name);
      const object = toStorage(served, conform(served, patched, checks));
      served.definition.strategy.defaults?.(object);
      return object;
    },
  });
  await answer(call, 200, updated);
}

/** Which kinds of patch a resource takes: strategic merge needs the merge keys that only built-in kinds declare. */
export function checkPatchType(served: Served, type: string): void {
  const accepted = [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH].filter(
    (t) => !(served.definition.custom && t === STRATEGIC_MERGE_PATCH),
  );
  if (accepted.includes(type)) return;
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

export function readPatch(type: string, text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw badRequest(
      type === STRATEGIC_MERGE_PATCH ? error.message : `error decoding patch: ${error.message}`,
    );
  }
}

export function applyPatch(
  served: Served,
  type: string,
  current: KubeObject,
  patch: unknown,
): Record<string, unknown> {
  switch (type) {
    case JSON_PATCH:
      return applyJsonPatch(current, patch);
    case MERGE_PATCH:
      return applyMergePatch(current, patch);
    default:
      return applyStrategicMergePatch(current, patch, served.version.schema);
  }
}

function checkIdentity(patched: Record<string, unknown>, name: string): void {
  const given = (patched.metadata as { name?: string } | undefined)?.name;
  if (given !== undefined && given !== name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
}

/** Server-side apply: creates what is not there. */
async function serveApply(call: Call, body: Buffer): Promise<void> {
  const { core, served, info, query } = call;
  const { definition } = served;
  const options = optionsOf(call, 'PatchOptions');
  if ((query.get('fieldManager') ?? '') === '') {
    throw invalid({ group: 'meta.k8s.io', kind: 'PatchOptions' }, '', [
      fieldError.required('fieldManager', 'is required for apply patch'),
    ]);
  }
  const applied = readApplied(call, body);
  const existing = core.store.get(keyOf(definition, info.namespace, info.name));
  if (existing === undefined && info.subresource === '') {
    try {
      const object = applyTo(call, undefined, applied, options);
      const request = { served, object, namespace: info.namespace, options, managed: true };
      return await answer(call, 201, await createObject(core, request));
    } catch (error) {
      // Created by somebody else meanwhile: apply to that.
      if (!(error instanceof ApiError) || error.status.reason !== 'AlreadyExists') throw error;
    }
  }
  const updated = await updateObject(core, {
    served,
    namespace: info.namespace,
    name: info.name,
    subresource: info.subresource,
    options,
    retries: true,
    managed: true,
    change: (current) => applyTo(call, current, applied, options),
  });
  await answer(call, 200, updated);
}

/** Only the fields that the client has an opinion about: nothing is filled in, and nothing unknown is taken out. */
function readApplied(call: Call, bytes: Buffer): KubeObject {
  const { served, query, info } = call;
  const { definition } = served;
  const validation = fieldValidation('PatchOptions', query);
  const body = readBodyAs(definition.kind, bytes, { format: 'yaml', fieldValidation: validation });
  const object = { ...body.value, metadata: { ...(body.value.metadata as object) } } as KubeObject;
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

function applyTo(
  call: Call,
  live: KubeObject | undefined,
  applied: KubeObject,
  options: WriteOptions,
): KubeObject {
  const { core, served, info, query } = call;
  const object = applyConfiguration({
    live,
    applied,
    manager: options.fieldManager,
    force: query.get('force') === 'true',
    apiVersion: managedApiVersion(served),
    kind: served.definition.kind,
    subresource: info.subresource,
    now: core.now(),
    schema: storageSchema(served.definition),
    resetFields: resetFields(served.definition, info.subresource),
  });
  const ignore = { fieldValidation: 'Ignore' as const, warn: options.warn };
  const stored =
    served.version.toStorage === undefined ? toStorage(served, conform(served, object, ignore)) : object;
  served.definition.strategy.defaults?.(stored);
  return stored;
}
