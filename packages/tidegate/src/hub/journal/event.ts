/** Events that a node creates or patches while no API server is reachable. */
import { randomInt, randomUUID } from 'node:crypto';
import { apiVersionOf, type JsonMap, type KubeObject, type ObjectMeta } from '@tidegate/kube';
import { badRequest, type ResourceRequest } from '@tidegate/serving';
import { compose } from './difference.ts';
import type { EventEntry } from './entry.ts';
import { merge } from './merge.ts';

type CreatedEvent = KubeObject & { metadata: ObjectMeta & { name: string } };

/** The event with the fields that the API server would have set. */
export function createdEvent(event: KubeObject, namespace: string, now: string): CreatedEvent {
  const { generateName = '' } = event.metadata;
  const name = event.metadata.name ?? (generateName === '' ? '' : generateName + suffix());
  if (name === '') throw badRequest('name or generateName is required');
  if ((event.metadata.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  // Timestamps in metadata have a resolution of one second.
  const creationTimestamp = `${now.slice(0, 19)}Z`;
  return { ...event, metadata: { ...event.metadata, name, namespace, uid: randomUUID(), creationTimestamp } };
}

/** The characters that the API server uses for generateName. Without vowels, they do not form words. */
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

const suffix = (): string =>
  Array.from({ length: 5 }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]).join('');

/** The entry with one more patch applied. */
export function added(entry: EventEntry, patch: JsonMap): EventEntry {
  const writes = entry.writes + 1;
  if (entry.kind === 'event') return { ...entry, writes, object: merge(entry.object, patch) as KubeObject };
  return { ...entry, writes, patch: compose(entry.patch, patch) };
}

/**
 * The event after a patch, as far as the hub knows the event. Event recorders of clients do not need more of
 * it.
 */
export function patchedEvent(
  { group, version, namespace, name }: ResourceRequest,
  base: KubeObject | undefined,
  patch: JsonMap,
): KubeObject {
  const known = base ?? {
    apiVersion: apiVersionOf(group, version),
    kind: 'Event',
    metadata: { namespace, name },
  };
  return merge(known, patch) as KubeObject;
}
