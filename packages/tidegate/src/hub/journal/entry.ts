import type { JsonMap, KubeObject, Resource, Target } from '@tidegate/kube';
import type { ResourceRequest } from '@tidegate/serving';

interface EntryBase {
  resource: Resource;
  target: Target;
  /** The time of the first write of this entry (RFC 3339). */
  since: string;
  /** The number of writes that were merged into this entry. */
  writes: number;
}

/** All writes of the node to one object. Only the final state is sent. */
export interface StateEntry extends EntryBase {
  kind: 'status' | 'lease';
  /** The patch to send. It contains only what changed. */
  patch: JsonMap;
  /** The object as it was last returned to the node. */
  object: KubeObject;
}

/** An event that the node created, with all later patches applied. */
export interface NewEventEntry extends EntryBase {
  kind: 'event';
  object: KubeObject;
}

/** Patches of an event that the API server has already. */
export interface EventPatchEntry extends EntryBase {
  kind: 'event patch';
  patch: JsonMap;
}

export type EventEntry = NewEventEntry | EventPatchEntry;
export type Entry = StateEntry | EventEntry;

/** The part of an entry that is kept in memory. */
export interface EntrySummary {
  /** Resource and name, for example `pods default/web`. */
  object: string;
  kind: Entry['kind'];
  since: string;
  writes: number;
}

export const encodeEntry = (entry: Entry): Buffer => Buffer.from(JSON.stringify(entry));

/** Not validated: only `encodeEntry` writes entries, and the file has checksums. */
export const decodeEntry = (bytes: Buffer): Entry => JSON.parse(bytes.toString('utf8')) as Entry;

export const summaryOf = ({ resource, target, kind, since, writes }: Entry): EntrySummary => {
  const name = target.namespace === undefined ? target.name : `${target.namespace}/${target.name}`;
  return { object: `${resource.resource} ${name}`, kind, since, writes };
};

/** The resource and the name of the object of a request, without the subresource. */
export function placeOf(info: ResourceRequest, name = info.name): Pick<EntryBase, 'resource' | 'target'> {
  const { group, version, resource, namespace } = info;
  const namespaced = namespace !== '';
  return {
    resource: { group, version, resource, namespaced },
    target: { name, ...(namespaced ? { namespace } : {}) },
  };
}
