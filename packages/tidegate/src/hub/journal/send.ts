/** Sends one entry of the journal to the API server. */
import {
  ApiStatusError,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  type KubeClient,
  type KubeObject,
  mapIn,
  type Target,
} from '@tidegate/kube';
import type { Entry, EventPatchEntry, NewEventEntry, StateEntry } from './entry.ts';

/**
 * - `gone`: the object does not exist.
 * - `replaced`: another object has the same name.
 * - `refused`: the API server rejects the request, and will always do so.
 */
export type Outcome = 'sent' | { reason: 'gone' | 'replaced' | 'refused'; error?: unknown };

const LEASE_ATTEMPTS = 3;
/** The API server warns about `$retainKeys` as an unknown field in a condition that it does not have yet. */
const WITHOUT_WARNINGS = 'Ignore';

/**
 * Resolves when the response is final. Rejects if no API server is reachable, or if it cannot process the
 * request now.
 */
export async function send(entry: Entry, client: KubeClient, signal: AbortSignal): Promise<Outcome> {
  try {
    return await sendByKind(entry, client, signal);
  } catch (error) {
    if (isNotFound(error)) return { reason: 'gone', error };
    if (isFinal(error)) return { reason: 'refused', error };
    throw error;
  }
}

function sendByKind(entry: Entry, client: KubeClient, signal: AbortSignal): Promise<Outcome> {
  switch (entry.kind) {
    case 'status':
      return sendStatus(entry, client, signal);
    case 'lease':
      return sendLease(entry, client, signal);
    case 'event':
      return createEvent(entry, client, signal);
    case 'event patch':
      return patchEvent(entry, client, signal);
  }
}

/**
 * Whether the same request will always get the same response. A 401 is not final: an API server may not know
 * the credentials of the node for a while, for example after it restarts.
 */
const isFinal = (error: unknown): boolean =>
  error instanceof ApiStatusError &&
  error.code >= 400 &&
  error.code < 500 &&
  ![401, 408, 429].includes(error.code);

/**
 * The UID in the patch is a precondition. Without it, the status would be applied to a new object with the
 * same name.
 */
async function sendStatus(
  { resource, target, patch, object }: StateEntry,
  client: KubeClient,
  signal: AbortSignal,
): Promise<Outcome> {
  const { uid } = object.metadata;
  const body = { ...patch, metadata: { ...mapIn(patch, 'metadata'), uid } };
  try {
    await client.patch(resource, { ...target, subresource: 'status' }, 'strategic', body, {
      signal,
      fieldValidation: WITHOUT_WARNINGS,
    });
    return 'sent';
  } catch (error) {
    if (!isConflict(error) && !isInvalid(error)) throw error;
    const now = await client.get(resource, target, { signal });
    if (now.metadata.uid !== uid) return { reason: 'replaced', error };
    // A conflict for the same object means that other clients write to it at the same time. A retry can
    // succeed.
    throw isConflict(error) ? contended(target, error) : error;
  }
}

const contended = ({ name }: Target, cause: unknown): Error =>
  new Error(`other clients are writing to ${JSON.stringify(name)} at the same time; retrying`, { cause });

/**
 * Sends a lease unless the API server has a newer renewal, for example from a kubelet that bypassed the hub.
 * An older renewTime would make the node look unhealthy. The resourceVersion is a precondition, so that a
 * renewal between the get and the patch is not overwritten.
 */
async function sendLease(
  { resource, target, patch, object }: StateEntry,
  client: KubeClient,
  signal: AbortSignal,
): Promise<Outcome> {
  for (let attempt = 1; ; attempt += 1) {
    const now = await client.get(resource, target, { signal });
    const { uid, resourceVersion } = now.metadata;
    if (uid !== object.metadata.uid) return { reason: 'replaced' };
    if (renewedAt(now) >= renewedAt(object)) return 'sent';
    const body = { ...patch, metadata: { ...mapIn(patch, 'metadata'), uid, resourceVersion } };
    try {
      await client.patch(resource, target, 'strategic', body, { signal });
      return 'sent';
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (attempt === LEASE_ATTEMPTS) throw contended(target, error);
    }
  }
}

/** In milliseconds. A lease without renewTime is older than every other. */
function renewedAt(lease: KubeObject): number {
  const { renewTime } = mapIn(lease, 'spec');
  const time = typeof renewTime === 'string' ? Date.parse(renewTime) : Number.NaN;
  return Number.isNaN(time) ? Number.NEGATIVE_INFINITY : time;
}

async function createEvent(
  { resource, target, object }: NewEventEntry,
  client: KubeClient,
  signal: AbortSignal,
): Promise<Outcome> {
  const { resourceVersion: _, uid: __, creationTimestamp: ___, ...metadata } = object.metadata;
  try {
    await client.create(resource, { ...object, metadata }, { namespace: target.namespace, signal });
  } catch (error) {
    // An earlier attempt succeeded, and only its response was lost.
    if (!isAlreadyExists(error)) throw error;
  }
  return 'sent';
}

async function patchEvent(
  { resource, target, patch }: EventPatchEntry,
  client: KubeClient,
  signal: AbortSignal,
): Promise<Outcome> {
  await client.patch(resource, target, 'merge', patch, { signal });
  return 'sent';
}
