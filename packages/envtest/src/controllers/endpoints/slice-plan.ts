/** Computes how to get from the existing slices to the wanted ones with as few writes as possible. Pure functions. */
import { isDeepStrictEqual } from 'node:util';
import type { EndpointSlice, KubeObject } from '@tidegate/kube';
import type { Endpoint } from 'kubernetes-types/discovery/v1.d.ts';
import { controllerReference, isControlledBy } from '../pods/index.ts';
import { portsKey, type SliceGroup } from './slice-groups.ts';

export const MANAGED_BY_LABEL = 'endpointslice.kubernetes.io/managed-by';
export const TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

/**
 * What the slices of one owner should contain together. How it is divided into slices is decided by {@link
 * planSlices}.
 */
export interface WantedSlices {
  /** The Service or Endpoints object that the slices belong to; they are deleted with it. */
  owner: KubeObject;
  labels: Record<string, string>;
  /** Undefined keeps the annotations that the slices have. */
  annotations?: Record<string, string>;
  groups: readonly SliceGroup[];
  maxEndpoints: number;
  /** When the change happened that causes the write. Proxies use it to measure the programming latency. */
  triggerTime?: string;
}

/** The writes to make. New slices have no name yet. */
export interface SlicePlan {
  create: EndpointSlice[];
  update: EndpointSlice[];
  remove: EndpointSlice[];
}

/** A slice with the endpoints that it will have. */
interface Draft {
  slice: EndpointSlice;
  group: SliceGroup;
  endpoints: Endpoint[];
  isChanged: boolean;
}

/**
 * Groups are handled one by one, because a slice has one list of ports. Within a group, `packGroup` keeps existing
 * endpoints in their slices. Slices that become empty are reused for groups that need a new slice; the rest is
 * removed.
 */
export function planSlices(wanted: WantedSlices, existing: readonly EndpointSlice[]): SlicePlan {
  // Slices of a deleted owner with the same name are not reused: the garbage collector may be about to delete them.
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
  // Rewriting a slice that is no longer needed is one write; deleting it and creating another would be two.
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
/** A slice without endpoints is kept only for a group that has no endpoints at all. */
const isUnused = ({ endpoints, group }: Draft): boolean =>
  endpoints.length === 0 && group.endpoints.length > 0;

/**
 * Every endpoint stays in its slice. New endpoints go into slices that must be written anyway, then into one
 * unchanged slice with room for all of them, and otherwise into new slices. The EndpointSlice controller of
 * Kubernetes works the same way (KEP-752): it prefers fewer writes over perfectly filled slices, because every proxy
 * receives each written slice.
 */
function packGroup(wanted: WantedSlices, group: SliceGroup, slices: readonly EndpointSlice[]): Draft[] {
  const unassigned = new Map(group.endpoints.map((endpoint) => [identify(endpoint), endpoint]));
  const drafts = slices.map((slice) => keepEndpoints(slice, unassigned, wanted, group));
  const rest = [...unassigned.values()];
  const { maxEndpoints } = wanted;
  const changed = drafts.filter(({ isChanged }) => isChanged);
  for (const draft of changed.sort((a, b) => b.endpoints.length - a.endpoints.length)) fill(draft);
  while (rest.length > 0) fill(bestFit() ?? addDraft());
  if (drafts.length === 0) addDraft();
  return drafts;

  function fill(draft: Draft): void {
    const added = rest.splice(0, maxEndpoints - draft.endpoints.length);
    draft.endpoints.push(...added);
    draft.isChanged ||= added.length > 0;
  }

  /** The fullest unchanged slice that has room for all remaining endpoints. */
  function bestFit(): Draft | undefined {
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

/** The same address and the same pod. All other fields of an endpoint can change in place. */
const identify = ({ addresses, hostname, targetRef }: Endpoint): string =>
  [...addresses.toSorted(), hostname, targetRef?.namespace, targetRef?.name].join();

/** Keeps the endpoints that the slice already has, and removes them from `unassigned`. */
function keepEndpoints(
  slice: EndpointSlice,
  unassigned: Map<string, Endpoint>,
  wanted: WantedSlices,
  group: SliceGroup,
): Draft {
  const before = slice.endpoints ?? [];
  const endpoints = before.flatMap((endpoint) => {
    const id = identify(endpoint);
    const now = unassigned.get(id);
    unassigned.delete(id);
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

/** Replaces a new slice by an unused one of the same address type, which is immutable. */
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
