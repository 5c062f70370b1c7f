/**
 * Endpoints as the site knows them: an EndpointSlice or Endpoints object as the API server last sent it, with what
 * kubelets of the site have reported about their pods since. The rules are those of the controllers of Kubernetes. Pure.
 *
 * Only endpoints that the object has already are changed, moved or removed: which pods a Service selects is decided in the
 * cloud.
 */
import type { EndpointSlice, Endpoints } from '@tidegate/kube';
import { nodeOfAddress, nodeOfEndpoint } from '../../scope/index.ts';
import { addressFor, type PodReport } from './pod-report.ts';

/** A pod that endpoints name, and the node that it runs on. */
export interface PodOnNode {
  readonly uid: string;
  readonly node: string;
}

/**
 * What the site knows about a pod: nothing (`unheard`), that it is not an endpoint any more (`gone`), that its node is lost,
 * or its report.
 */
export type Knowledge = 'unheard' | 'gone' | 'lost' | PodReport;

export interface DeriveOptions {
  lookUp(pod: PodOnNode): Knowledge;
  /** Whether the Service publishes the addresses of pods that are not ready. */
  publishNotReady: boolean;
}

type Endpoint = EndpointSlice['endpoints'][number];
type Subset = NonNullable<Endpoints['subsets']>[number];
type Address = NonNullable<Subset['addresses']>[number];
type Reference = Pick<NonNullable<Endpoint['targetRef']>, 'kind' | 'uid'>;

/** Returns the slice itself if nothing differs. */
export function deriveSlice(slice: EndpointSlice, options: DeriveOptions): EndpointSlice {
  const all = slice.endpoints ?? [];
  const now = all.map((endpoint) => deriveEndpoint(endpoint, options));
  if (now.every((endpoint, i) => endpoint === all[i])) return slice;
  return { ...slice, endpoints: now.filter((endpoint) => endpoint !== undefined) };
}

/** Undefined: it is not an endpoint any more. */
function deriveEndpoint(
  endpoint: Endpoint,
  { lookUp, publishNotReady }: DeriveOptions,
): Endpoint | undefined {
  const pod = podOf(endpoint.targetRef, nodeOfEndpoint(endpoint));
  const known = pod === undefined ? 'unheard' : lookUp(pod);
  if (known === 'unheard') return endpoint;
  if (known === 'lost') return publishNotReady ? endpoint : notReady(endpoint);
  const address = known === 'gone' ? undefined : addressFor(known, endpoint.addresses[0] ?? '');
  if (known === 'gone' || address === undefined) return undefined;
  const { conditions = {} } = endpoint;
  // Before `serving` and `terminating` existed, pods left their slices when they were deleted.
  const knowsTerminating = conditions.terminating !== undefined;
  if (known.terminating && !knowsTerminating && !publishNotReady) return undefined;
  const next = {
    ...conditions,
    ready: publishNotReady || (known.ready && !known.terminating),
    ...(conditions.serving !== undefined && { serving: known.ready }),
    ...(knowsTerminating && { terminating: known.terminating }),
  };
  const isSame =
    `${endpoint.addresses}` === address &&
    // A missing `ready` means that the endpoint is ready.
    (conditions.ready ?? true) === next.ready &&
    conditions.serving === next.serving &&
    conditions.terminating === next.terminating;
  return isSame ? endpoint : { ...endpoint, addresses: [address], conditions: next };
}

/** The endpoint itself if it is not ready already. */
function notReady(endpoint: Endpoint): Endpoint {
  const { conditions = {} } = endpoint;
  if (conditions.ready === false && conditions.serving !== true) return endpoint;
  const serving = conditions.serving === undefined ? {} : { serving: false };
  return { ...endpoint, conditions: { ...conditions, ready: false, ...serving } };
}

/** Returns the object itself if nothing differs. */
export function deriveEndpoints(object: Endpoints, options: DeriveOptions): Endpoints {
  const all = object.subsets ?? [];
  const now = all.map((subset) => deriveSubset(subset, options));
  if (now.every((subset, i) => subset === all[i])) return object;
  return {
    ...object,
    subsets: now.filter(
      ({ addresses = [], notReadyAddresses = [] }) => addresses.length + notReadyAddresses.length > 0,
    ),
  };
}

function deriveSubset(subset: Subset, { lookUp, publishNotReady }: DeriveOptions): Subset {
  const addresses: Address[] = [];
  const notReadyAddresses: Address[] = [];
  let changed = false;
  const place = (address: Address, wasReady: boolean): void => {
    const pod = podOf(address.targetRef, nodeOfAddress(address));
    const known = pod === undefined ? 'unheard' : lookUp(pod);
    if (known === 'unheard' || known === 'lost') {
      const isReady = wasReady && (known === 'unheard' || publishNotReady);
      changed ||= isReady !== wasReady;
      (isReady ? addresses : notReadyAddresses).push(address);
      return;
    }
    const ip = known === 'gone' ? undefined : addressFor(known, address.ip);
    if (known === 'gone' || ip === undefined || (known.terminating && !publishNotReady)) {
      changed = true;
      return;
    }
    const isReady = publishNotReady || known.ready;
    changed ||= isReady !== wasReady || ip !== address.ip;
    (isReady ? addresses : notReadyAddresses).push(ip === address.ip ? address : { ...address, ip });
  };
  for (const address of subset.addresses ?? []) place(address, true);
  for (const address of subset.notReadyAddresses ?? []) place(address, false);
  if (!changed) return subset;
  const { addresses: _, notReadyAddresses: __, ...rest } = subset;
  return {
    ...rest,
    ...(addresses.length > 0 && { addresses }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
  };
}

/** The pods that the endpoints of the object name. */
export function podsIn(object: EndpointSlice | Endpoints): PodOnNode[] {
  if (object.kind === 'EndpointSlice')
    return ((object as EndpointSlice).endpoints ?? []).flatMap(
      (one) => podOf(one.targetRef, nodeOfEndpoint(one)) ?? [],
    );
  return ((object as Endpoints).subsets ?? []).flatMap(({ addresses = [], notReadyAddresses = [] }) =>
    [...addresses, ...notReadyAddresses].flatMap((one) => podOf(one.targetRef, nodeOfAddress(one)) ?? []),
  );
}

function podOf(target: Reference | undefined, node: string | undefined): PodOnNode | undefined {
  if (target?.kind !== 'Pod' || target.uid === undefined || node === undefined || node === '')
    return undefined;
  return { uid: target.uid, node };
}
