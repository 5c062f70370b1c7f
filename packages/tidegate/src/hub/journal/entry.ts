import type { JsonMap, KubeObject, Resource, Target } from '@tidegate/kube';
import type { ResourceRequest } from '@tidegate/serving';

interface EntryBase {
  resource: Resource;
  target: Target;
  /** When the first of its writes came. */
  since: string;
  /** How many writes have become this entry. */
  writes: number;
}

/** All that a node wrote to one object: the final state counts. */
export interface StateEntry extends EntryBase {
  kind: 'status' | 'lease';
  /** What to tell the API server; it names only what changed. */
  patch: JsonMap;
  /** The object as it was answered last. */
  object: KubeObject;
}

/** An event that the node made, with what it added later. */
export interface NewEventEntry extends EntryBase {
  kind: 'event';
  object: KubeObject;
}

/** What a node added to an event that the API server has already. */
export interface EventPatchEntry extends EntryBase {
  kind: 'event patch';
  patch: JsonMap;
}

export type EventEntry = NewEventEntry | EventPatchEntry;
export type Entry = StateEntry | EventEntry;

/** What is known of an entry without reading it. */
export interface EntrySummary {
  /** `pods default/web` */
  object: string;
  kind: Entry['kind'];
  since: string;
  writes: number;
}

export const encodeEntry = (entry: Entry): Buffer => Buffer.from(JSON.stringify(entry));

/** Only what `encodeEntry` wrote is ever read, and the file's checksums tell when it is not. */
export const decodeEntry = (bytes: Buffer): Entry => JSON.parse(bytes.toString('utf8')) as Entry;

export const summaryOf = ({ resource, target, kind, since, writes }: Entry): EntrySummary => {
  const name = target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`;
  return { object: `${resource.resource} ${name}`, kind, since, writes };
};

/** Where the object of a request is, without the subresource. */
export function placeOf(info: ResourceRequest, name = info.name): Pick<EntryBase, 'resource' | 'target'> {
  const { group, version, resource, namespace } = info;
  const namespaced = namespace !== '';
  return {
    resource: { group, version, resource, namespaced },
    target: { name, ...(namespaced ? { namespace } : {}) },
  };
}
