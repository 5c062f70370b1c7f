/** What becomes of events that a node makes or adds to without the API server. */
import { randomInt, randomUUID } from 'node:crypto';
import { apiVersionOf, type JsonMap, type KubeObject, type ObjectMeta } from '@tidegate/kube';
import { badRequest, type ResourceRequest } from '@tidegate/serving';
import { compose } from './difference.ts';
import type { EventEntry } from './entry.ts';
import { merge } from './merge.ts';

type CreatedEvent = KubeObject & { metadata: ObjectMeta & { name: string } };

/** An event with what the API server would have set on it. */
export function createdEvent(event: KubeObject, namespace: string, now: string): CreatedEvent {
  const { generateName = '' } = event.metadata;
  const name = event.metadata.name ?? (generateName === '' ? '' : generateName + suffix());
  if (name === '') throw badRequest('name or generateName is required');
  if ((event.metadata.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  // Times of metadata have no fractions.
  const creationTimestamp = `${now.slice(0, 19)}Z`;
  return { ...event, metadata: { ...event.metadata, name, namespace, uid: randomUUID(), creationTimestamp } };
}

/** As the API server completes a generateName: letters and digits that make no words. */
const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

const suffix = (): string =>
  Array.from({ length: 5 }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]).join('');

/** The entry with one more patch in it. */
export function added(entry: EventEntry, patch: JsonMap): EventEntry {
  const writes = entry.writes + 1;
  if (entry.kind === 'event') return { ...entry, writes, object: merge(entry.object, patch) as KubeObject };
  return { ...entry, writes, patch: compose(entry.patch, patch) };
}

/** The event after a patch, as far as it is known here: who records events needs no more of it. */
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
