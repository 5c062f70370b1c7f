import type { Certificate, Delta, HostName, HostRoutes, Upstream, UpstreamId } from '../model.ts';

/**
 * The compiled routes of one router. The maps must not be changed; they are those of the compiler and have the next
 * state after the call. `../match` defines what they mean for a request.
 */
export interface RouterSnapshot {
  /** Generation of the L7Router whose hosts these are. */
  readonly routerGeneration: number;
  /** Increases with each change of the routes, endpoints or certificates. Starts again when the manager restarts. */
  readonly generation: number;
  /**
   * The empty host name has the rules without a host. A host without routes is owned, but answers 404: neither the wildcard
   * above it nor rules without a host apply to it.
   */
  readonly hosts: ReadonlyMap<HostName, HostRoutes>;
  readonly upstreams: ReadonlyMap<UpstreamId, Upstream>;
  readonly certificates: ReadonlyMap<HostName, Certificate>;
  /**
   * What has changed since the last `reconcile` of this router that resolved. `from` is 0 for the first call, and after
   * a failure: then it is the complete state, and the load balancer may have any state.
   */
  readonly changes: Delta;
}
