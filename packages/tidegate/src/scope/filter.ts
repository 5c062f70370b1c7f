import type { EndpointSlice, Endpoints } from '@tidegate/kube';
import { type Judge, judgeFor, seesAll, type Verdict, type View } from './visible.ts';

export interface Filtered<T> {
  /** The very object that came in when nothing was withheld. Objects are shared: they are never changed. */
  object: T;
  /** Why, for each endpoint that was. */
  withheld: Verdict[];
}

/** A slice of which nothing is left stays: an empty one tells clients to forget what they knew. */
export function filterEndpointSlice(slice: EndpointSlice, view: View): Filtered<EndpointSlice> {
  const judge = judgeFor(view);
  if (judge === seesAll) return { object: slice, withheld: [] };
  const sieve = new Sieve(judge);
  const all = slice.endpoints ?? [];
  const seen = sieve.pass(all, nodeOfEndpoint);
  return { object: seen === all ? slice : { ...slice, endpoints: seen }, withheld: sieve.withheld };
}

/** The Service has the name of the Endpoints object. A subset of which nothing is left goes. */
export function filterEndpoints(object: Endpoints, view: View): Filtered<Endpoints> {
  const judge = judgeFor(view);
  if (judge === seesAll) return { object, withheld: [] };
  const sieve = new Sieve(judge);
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

/** The nodes that the endpoints of a slice are on. */
export const nodesOfSlice = ({ endpoints }: EndpointSlice): Set<string> =>
  nodesOf(endpoints ?? [], nodeOfEndpoint);

/** The nodes that the addresses of an Endpoints object are on. */
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

/** Lets through what may be seen, and remembers the rest. */
class Sieve {
  readonly withheld: Verdict[] = [];
  readonly #judge: Judge;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  /** The very array that came in when all of it may be seen: most of the time nothing has to be copied. */
  pass<T>(endpoints: T[], nodeOf: (endpoint: T) => string | undefined): T[] {
    let seen: T[] | undefined;
    let index = -1;
    for (const endpoint of endpoints) {
      index += 1;
      const verdict = this.#judge(nodeOf(endpoint));
      if (verdict.visible) seen?.push(endpoint);
      else {
        seen ??= endpoints.slice(0, index);
        this.withheld.push(verdict);
      }
    }
    return seen ?? endpoints;
  }
}

const nodeOfAddress = ({ nodeName }: { nodeName?: string }): string | undefined => nodeName;

/** v1beta1 of old clusters says it in `topology`. */
function nodeOfEndpoint(endpoint: {
  nodeName?: string;
  topology?: Record<string, string>;
}): string | undefined {
  return endpoint.nodeName ?? endpoint.topology?.['kubernetes.io/hostname'];
}
