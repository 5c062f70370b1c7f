import type { EndpointSlice, Endpoints } from '@tidegate/kube';
import {
  allVisible,
  type EndpointCheck,
  type EndpointClient,
  type EndpointVisibility,
  endpointCheck,
} from './visibility.ts';

export interface Filtered<T> {
  /** The input object itself if nothing was withheld. Inputs are shared with other readers and are never modified. */
  object: T;
  /** The reason for each endpoint that was withheld. */
  withheld: EndpointVisibility[];
}

/**
 * Keeps the visible endpoints of a slice. A slice with no visible endpoint stays as an empty slice, so that watching
 * clients drop the endpoints they had before.
 */
export function filterEndpointSlice(slice: EndpointSlice, client: EndpointClient): Filtered<EndpointSlice> {
  const check = endpointCheck(client);
  if (check === allVisible) return { object: slice, withheld: [] };
  const sieve = new Sieve(check);
  const all = slice.endpoints ?? [];
  const kept = sieve.pass(all, nodeOfEndpoint);
  return { object: kept === all ? slice : { ...slice, endpoints: kept }, withheld: sieve.withheld };
}

/** Keeps the visible addresses of an Endpoints object, and drops subsets that become empty. */
export function filterEndpoints(object: Endpoints, client: EndpointClient): Filtered<Endpoints> {
  const check = endpointCheck(client);
  if (check === allVisible) return { object, withheld: [] };
  const sieve = new Sieve(check);
  const subsets = (object.subsets ?? []).map(({ addresses, notReadyAddresses, ...subset }) => ({
    ...subset,
    ...(addresses && { addresses: sieve.pass(addresses, nodeOfAddress) }),
    ...(notReadyAddresses && { notReadyAddresses: sieve.pass(notReadyAddresses, nodeOfAddress) }),
  }));
  if (sieve.withheld.length === 0) return { object, withheld: [] };
  const left = subsets.filter(
    ({ addresses = [], notReadyAddresses = [] }) => addresses.length + notReadyAddresses.length > 0,
  );
  return { object: { ...object, subsets: left }, withheld: sieve.withheld };
}

/** The nodes of the endpoints in a slice. */
export const nodesOfSlice = ({ endpoints }: EndpointSlice): Set<string> =>
  nodesOf(endpoints ?? [], nodeOfEndpoint);

/** The nodes of the addresses in an Endpoints object. */
export const nodesOfEndpoints = ({ subsets }: Endpoints): Set<string> =>
  nodesOf(
    (subsets ?? []).flatMap(({ addresses = [], notReadyAddresses = [] }) => [
      ...addresses,
      ...notReadyAddresses,
    ]),
    nodeOfAddress,
  );

function nodesOf<T>(endpoints: readonly T[], nodeOf: (endpoint: T) => string | undefined): Set<string> {
  const nodes = new Set<string>();
  for (const endpoint of endpoints) {
    const node = nodeOf(endpoint);
    if (node !== undefined && node !== '') nodes.add(node);
  }
  return nodes;
}

/** Keeps visible endpoints and records why it removed the others. */
class Sieve {
  readonly withheld: EndpointVisibility[] = [];
  readonly #check: EndpointCheck;

  constructor(check: EndpointCheck) {
    this.#check = check;
  }

  /** Returns the input array itself if all of it is visible, the common case, so that nothing is copied. */
  pass<T>(endpoints: T[], nodeOf: (endpoint: T) => string | undefined): T[] {
    let kept: T[] | undefined;
    let index = -1;
    for (const endpoint of endpoints) {
      index += 1;
      const visibility = this.#check(nodeOf(endpoint));
      if (visibility.visible) kept?.push(endpoint);
      else {
        kept ??= endpoints.slice(0, index);
        this.withheld.push(visibility);
      }
    }
    return kept ?? endpoints;
  }
}

export const nodeOfAddress = ({ nodeName }: { nodeName?: string }): string | undefined => nodeName;

/** EndpointSlices of discovery.k8s.io/v1beta1 have the node name in `topology`. */
export function nodeOfEndpoint(endpoint: {
  nodeName?: string;
  topology?: Record<string, string>;
}): string | undefined {
  return endpoint.nodeName ?? endpoint.topology?.['kubernetes.io/hostname'];
}
