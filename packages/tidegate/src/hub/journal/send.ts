/** One entry of the journal on its way to the API server. */
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

/** Anything but `sent`: the API server will never take it. */
export type Outcome = 'sent' | { reason: 'gone' | 'replaced' | 'refused'; error?: unknown };

const LEASE_ATTEMPTS = 3;
/** The API server does not recognise `$retainKeys` in a condition that it has not had before, and says so. */
const WITHOUT_WARNINGS = 'Ignore';

/** Rejects when the answer is not final: nobody was there, or the server can not take it now. */
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

/** The same request will get the same answer for ever. Not so when the node's credentials are not known yet, or again. */
const isFinal = (error: unknown): boolean =>
  error instanceof ApiStatusError &&
  error.code >= 400 &&
  error.code < 500 &&
  ![401, 408, 429].includes(error.code);

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
    // Many writers at once: that passes.
    throw isConflict(error) ? contended(target, error) : error;
  }
}

const contended = ({ name }: Target, cause: unknown): Error =>
  new Error(`${JSON.stringify(name)} is written by others at the same time; it is tried again`, { cause });

/** A lease that was renewed since, by whatever way, must not look older than it is. */
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

/** Milliseconds; a lease that was never renewed is older than every other. */
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
    // It came through before, and only the answer was lost.
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
