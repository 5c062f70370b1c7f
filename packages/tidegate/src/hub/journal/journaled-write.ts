/** Which writes of a node the journal accepts, and how each of them changes its object. */

import { isJsonMap, type JsonMap, type KubeObject, mapIn, PATCH_TYPES } from '@tidegate/kube';
import { applyMergePatch } from '@tidegate/kube/patch';
import {
  type ApiError,
  badRequest,
  conflict,
  fieldError,
  invalid,
  type ResourceRequest,
} from '@tidegate/serving';
import { unavailable } from '../upstream/index.ts';
import { writable } from './difference.ts';
import { merge, STATUS_MERGE_KEYS } from './merge.ts';

export type WriteKind = 'status' | 'lease' | 'event';

export interface WriteRequest {
  info: ResourceRequest;
  query: URLSearchParams;
  contentType: string;
  body: Buffer;
}

/** Decodes the body of a create or update: JSON, YAML or protobuf. */
export type DecodeBody = (contentType: string, body: Buffer) => KubeObject;

const NODE_LEASES = 'kube-node-lease';

/**
 * The type of a write that the journal accepts; undefined for all other requests. The journal accepts only
 * writes where the node is the authority: its own status and lease, the status of its pods, and events. Only
 * the API server can decide about anything else.
 */
export function kindOf(info: ResourceRequest, nodeName: string): WriteKind | undefined {
  const { verb, group, resource, subresource, namespace, name } = info;
  const changes = verb === 'patch' || verb === 'update';
  if (group === '' && subresource === 'status' && changes) {
    if (resource === 'pods' && name !== '') return 'status';
    if (resource === 'nodes' && name === nodeName) return 'status';
  }
  if (subresource !== '') return undefined;
  if (group === 'coordination.k8s.io' && resource === 'leases' && changes)
    return namespace === NODE_LEASES && name === nodeName ? 'lease' : undefined;
  if ((group === '' || group === 'events.k8s.io') && resource === 'events')
    return verb === 'create' || (verb === 'patch' && name !== '') ? 'event' : undefined;
  return undefined;
}

/** The part of the object that the write changes, besides labels and annotations. */
export const partOf = (kind: 'status' | 'lease'): 'status' | 'spec' => (kind === 'lease' ? 'spec' : 'status');

/**
 * Returns the object after the write. Other parts than the status (or the spec of a lease), labels and
 * annotations are ignored, as the API server does for the status subresource.
 */
export function written(
  current: KubeObject,
  kind: 'status' | 'lease',
  request: WriteRequest,
  decode: DecodeBody,
): KubeObject {
  const part = partOf(kind);
  if (request.info.verb === 'patch') {
    const patch = patchOf(request);
    const { uid = current.metadata.uid } = mapIn(patch, 'metadata');
    if (uid !== current.metadata.uid) throw otherUid(request.info, current, uid);
    const strategic = mediaType(request.contentType) === PATCH_TYPES.strategic;
    return patched(current, writable(patch, part), strategic);
  }
  const body = decode(request.contentType, request.body);
  const { labels, annotations, uid = current.metadata.uid } = body.metadata;
  if (uid !== current.metadata.uid) throw otherUid(request.info, current, uid);
  return { ...current, metadata: { ...current.metadata, labels, annotations }, [part]: body[part] };
}

/** Applies a patch of the parts that may change. */
export function patched(current: KubeObject, patch: JsonMap, strategic = true): KubeObject {
  const result: KubeObject = { ...current };
  for (const [part, change] of Object.entries(patch)) {
    if (!isJsonMap(change)) continue;
    const before = mapIn(current, part);
    const keys = part === 'status' ? STATUS_MERGE_KEYS : {};
    result[part] = strategic ? merge(before, change, keys) : applyMergePatch(before, change);
  }
  return result;
}

/**
 * Parses the body of a patch. The journal has to compose patches, which it cannot do with JSON Patch or
 * server-side apply.
 */
export function patchOf({ contentType, body }: WriteRequest): JsonMap {
  const type = mediaType(contentType);
  if (type !== PATCH_TYPES.strategic && type !== PATCH_TYPES.merge) {
    throw unavailable(
      `the API server is unreachable, and the journal of this node cannot store a patch of type ${JSON.stringify(type)}: ` +
        'send a merge patch or a strategic merge patch',
    );
  }
  const patch = parse(body);
  if (!isJsonMap(patch)) throw badRequest('the patch is not a JSON object');
  return patch;
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw badRequest(`the patch is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

const mediaType = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();

/**
 * The write names the UID of a deleted object with the same name. The API server has different messages for a
 * patch and an update.
 */
function otherUid(info: ResourceRequest, { kind, metadata }: KubeObject, uid: unknown): ApiError {
  if (info.verb === 'patch') {
    const { group, name } = info;
    return invalid({ group, kind }, name, [fieldError.invalid('metadata.uid', uid, 'field is immutable')]);
  }
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  return conflict(info, info.name, why);
}
