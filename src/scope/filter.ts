import { SERVICE_NAME_LABEL } from '../api/index.ts';
import type { EndpointSlice, Endpoints } from '../kube/index.ts';
import { judgeFor, type Verdict, type View } from './visible.ts';

export interface Filtered<T> {
  /** The very object that came in when nothing was withheld. Objects are shared: they are never changed. */
  object: T;
  /** Why, for each endpoint that was. */
  withheld: Verdict[];
}

/** `namespace/name` of the Service that a slice belongs to; undefined when it belongs to none. */
export function serviceOfSlice({ metadata }: EndpointSlice): string | undefined {
  const name = metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}

/** A slice of which nothing is left stays: an empty one tells clients to forget what they knew. */
export function filterEndpointSlice(slice: EndpointSlice, view: View): Filtered<EndpointSlice> {
  const sieve = new Sieve(view);
  const endpoints = sieve.pass(slice.endpoints ?? [], nodeOfEndpoint);
  return { object: sieve.withheld.length === 0 ? slice : { ...slice, endpoints }, withheld: sieve.withheld };
}

/** The Service has the name of the Endpoints object. A subset of which nothing is left goes. */
export function filterEndpoints(object: Endpoints, view: View): Filtered<Endpoints> {
  const sieve = new Sieve(view);
  const subsets = (object.subsets ?? []).map(({ addresses, notReadyAddresses, ...subset }) => ({
    ...subset,
    ...(addresses && { addresses: sieve.pass(addresses, (address) => address.nodeName) }),
    ...(notReadyAddresses && {
      notReadyAddresses: sieve.pass(notReadyAddresses, (address) => address.nodeName),
    }),
  }));
  if (sieve.withheld.length === 0) return { object, withheld: [] };
  const left = subsets.filter(
    ({ addresses = [], notReadyAddresses = [] }) => addresses.length + notReadyAddresses.length > 0,
  );
  return { object: { ...object, subsets: left }, withheld: sieve.withheld };
}

/** Lets through what may be seen, and remembers the rest. */
class Sieve {
  readonly withheld: Verdict[] = [];
  readonly #judge: (nodeName: string | undefined) => Verdict;

  constructor(view: View) {
    this.#judge = judgeFor(view);
  }

  pass<T>(endpoints: readonly T[], nodeOf: (endpoint: T) => string | undefined): T[] {
    return endpoints.filter((endpoint) => {
      const verdict = this.#judge(nodeOf(endpoint));
      if (!verdict.visible) this.withheld.push(verdict);
      return verdict.visible;
    });
  }
}

/** v1beta1 of old clusters says it in `topology`. */
function nodeOfEndpoint(endpoint: {
  nodeName?: string;
  topology?: Record<string, string>;
}): string | undefined {
  return endpoint.nodeName ?? endpoint.topology?.['kubernetes.io/hostname'];
}
