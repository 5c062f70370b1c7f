/** How to get from the slices that are there to those that are wanted, with as few writes as possible. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { EndpointSlice, KubeObject } from '@tidegate/kube';
import type { Endpoint } from 'kubernetes-types/discovery/v1.d.ts';
import { controllerReference, isControlledBy } from '../pods/index.ts';
import { portsKey, type SliceGroup } from './slice-groups.ts';

export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

export interface WantedSlices {
  /** Whose endpoints they are; the slices go when it goes. */
  owner: KubeObject;
  labels: Record<string, string>;
  /** Undefined: whatever the slices have. */
  annotations?: Record<string, string>;
  groups: readonly SliceGroup[];
  maxEndpoints: number;
  /** When the change happened that makes a write necessary; told to those who measure how long it takes. */
  triggerTime?: string;
}

export interface SlicePlan {
  create: EndpointSlice[];
  update: EndpointSlice[];
  remove: EndpointSlice[];
}

/** A slice on its way to what it will be. */
interface Draft {
  slice: EndpointSlice;
  group: SliceGroup;
  endpoints: Endpoint[];
  isChanged: boolean;
}

export function planSlices(wanted: WantedSlices, existing: readonly EndpointSlice[]): SlicePlan {
  // Slices of a namesake that is gone are not ours to reuse: the collector may be about to delete them.
  const own = existing.filter((slice) => isControlledBy(slice, wanted.owner));
  const remove = existing.filter((slice) => !own.includes(slice));
  const byGroup = groupSlices(own);
  const drafts: Draft[] = [];
  const missing: Draft[] = [];
  for (const group of wanted.groups) {
    const key = groupKey(group);
    const packed = packGroup(wanted, group, byGroup.get(key) ?? []);
    byGroup.delete(key);
    for (const draft of packed) (isNew(draft) ? missing : drafts).push(draft);
  }
  // To rewrite a slice that has no use any more is one write; to delete it and make another would be two.
  const unused = [...[...byGroup.values()].flat(), ...drafts.filter(isUnused).map(({ slice }) => slice)];
  const reused = missing.map((draft) => reuse(draft, unused));
  const kept = drafts.filter((draft) => !isUnused(draft));
  const all = [...kept, ...reused].filter(({ isChanged }) => isChanged).map((draft) => finish(wanted, draft));
  return {
    create: all.filter(({ metadata }) => metadata.name === undefined),
    update: all.filter(({ metadata }) => metadata.name !== undefined),
    remove: [...remove, ...unused],
  };
}

const groupKey = ({ addressType, ports }: Pick<SliceGroup, 'ports'> & { addressType: string }): string =>
  `${addressType} ${portsKey(ports)}`;

function groupSlices(slices: readonly EndpointSlice[]): Map<string, EndpointSlice[]> {
  const groups = new Map<string, EndpointSlice[]>();
  for (const slice of slices) {
    const key = groupKey({ addressType: slice.addressType, ports: slice.ports ?? [] });
    groups.set(key, [...(groups.get(key) ?? []), slice]);
  }
  return groups;
}

const isNew = ({ slice }: Draft): boolean => slice.metadata.name === undefined;
/** Only the group that has no endpoints at all has a slice that holds none. */
const isUnused = ({ endpoints, group }: Draft): boolean =>
  endpoints.length === 0 && group.endpoints.length > 0;

/** Every endpoint stays where it is; new ones go where a write is due anyway, then where they all fit, then elsewhere. */
function packGroup(wanted: WantedSlices, group: SliceGroup, slices: readonly EndpointSlice[]): Draft[] {
  const homeless = new Map(group.endpoints.map((endpoint) => [identify(endpoint), endpoint]));
  const drafts = slices.map((slice) => keepIn(slice, homeless, wanted, group));
  const rest = [...homeless.values()];
  const { maxEndpoints } = wanted;
  const changed = drafts.filter(({ isChanged }) => isChanged);
  for (const draft of changed.sort((a, b) => b.endpoints.length - a.endpoints.length)) fill(draft);
  while (rest.length > 0) fill(roomiest() ?? addDraft());
  if (drafts.length === 0) addDraft();
  return drafts;

  function fill(draft: Draft): void {
    const added = rest.splice(0, maxEndpoints - draft.endpoints.length);
    draft.endpoints.push(...added);
    draft.isChanged ||= added.length > 0;
  }

  /** The unchanged slice that will be the fullest of those with room for all that is left. */
  function roomiest(): Draft | undefined {
    return drafts
      .filter(({ isChanged, endpoints }) => !isChanged && endpoints.length + rest.length <= maxEndpoints)
      .sort((a, b) => b.endpoints.length - a.endpoints.length)[0];
  }

  function addDraft(): Draft {
    const draft: Draft = { slice: newSlice(wanted, group), group, endpoints: [], isChanged: true };
    drafts.push(draft);
    return draft;
  }
}

/** Same address and same pod: what else there is to know about an endpoint may change in place. */
const identify = ({ addresses, hostname, targetRef }: Endpoint): string =>
  [...addresses.toSorted(), hostname, targetRef?.namespace, targetRef?.name].join();

/** Takes the endpoints that are in the slice already out of `homeless`. */
function keepIn(
  slice: EndpointSlice,
  homeless: Map<string, Endpoint>,
  wanted: WantedSlices,
  group: SliceGroup,
): Draft {
  const before = slice.endpoints ?? [];
  const endpoints = before.flatMap((endpoint) => {
    const id = identify(endpoint);
    const now = homeless.get(id);
    homeless.delete(id);
    return now === undefined ? [] : [now];
  });
  const isChanged = !isDeepStrictEqual(endpoints, before) || !hasWantedMetadata(slice, wanted);
  return { slice, group, endpoints, isChanged };
}

function hasWantedMetadata({ metadata }: EndpointSlice, { labels, annotations }: WantedSlices): boolean {
  if (!isDeepStrictEqual(metadata.labels, labels)) return false;
  const { [TRIGGER_TIME]: _, ...present } = metadata.annotations ?? {};
  return annotations === undefined || isDeepStrictEqual(present, annotations);
}

function newSlice({ owner }: WantedSlices, { addressType }: SliceGroup): EndpointSlice {
  const { name = '', namespace } = owner.metadata;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { generateName: `${name}-`, namespace, ownerReferences: [controllerReference(owner)] },
    addressType,
    endpoints: [],
  };
}

/** The address type of a slice can not be changed. */
function reuse(draft: Draft, unused: EndpointSlice[]): Draft {
  const at = unused.findIndex(({ addressType }) => addressType === draft.group.addressType);
  if (at < 0) return draft;
  const [slice] = unused.splice(at, 1);
  return { ...draft, slice: slice! };
}

function finish(wanted: WantedSlices, { slice, group, endpoints }: Draft): EndpointSlice {
  const { [TRIGGER_TIME]: _, ...present } = slice.metadata.annotations ?? {};
  const annotations = {
    ...(wanted.annotations ?? present),
    ...(wanted.triggerTime !== undefined && { [TRIGGER_TIME]: wanted.triggerTime }),
  };
  return {
    ...slice,
    metadata: { ...slice.metadata, labels: wanted.labels, annotations },
    ports: group.ports,
    endpoints,
  };
}
