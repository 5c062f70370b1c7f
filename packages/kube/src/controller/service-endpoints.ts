import type { Informer } from '../informer/informer.ts';
import type { Informers } from '../informer/informers.ts';
import { serviceOfSlice } from '../kinds/endpoint-slices.ts';
import { ENDPOINT_SLICES, type EndpointSlice } from '../kinds/kinds.ts';

const INDEX = 'kube/slices-by-service';

/** An address that accepts connections for a Service. */
export interface ServiceEndpoint {
  readonly host: string;
  readonly port: number;
}

/**
 * The ready endpoints of Services, kept current with one watch.
 *
 * @example
 * const endpoints = new ServiceEndpoints(informers);
 * await endpoints.synced;
 * endpoints.of('shop/web'); // [{ host: '10.0.0.7', port: 8080 }]
 */
export class ServiceEndpoints {
  readonly #slices: Informer<EndpointSlice>;

  constructor(informers: Informers) {
    this.#slices = informers.for(ENDPOINT_SLICES);
    this.#slices.addIndex(INDEX, (slice) => [serviceOfSlice(slice) ?? []].flat());
  }

  get synced(): Promise<void> {
    return this.#slices.synced;
  }

  /** `service` is `namespace/name`. Without the name of a port, the first port counts. */
  of(service: string, portName?: string): ServiceEndpoint[] {
    return this.#slices.cache.byIndex(INDEX, service).flatMap(({ endpoints, ports }) => {
      const port = (ports ?? []).find(({ name }) => portName === undefined || name === portName)?.port;
      if (port === undefined || port === null) return [];
      return (endpoints ?? [])
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap(({ addresses }) => addresses.map((host) => ({ host, port })));
    });
  }
}
