import type { Delta } from '../ingress/model.ts';

/** A part of the table that the data plane has no room for. It is closed: requests get 503, or another certificate. */
export interface Unserved {
  readonly kind: 'hosts' | 'upstreams' | 'certificates' | 'credentials';
  /** As in the table. */
  readonly key: string;
  /** For rules without a host: only those of this namespace. */
  readonly namespace?: string;
}

/** The interface of a data plane. An agent has one driver, and applies all changes to it in order. */
export interface Driver {
  /**
   * Resolves when the data plane listens. `first` is a full state, and is served from the first request on; without it,
   * every response is 503. Rejects with CapacityError if `first` does not fit: the data plane has not started then.
   */
  start(first?: Delta): Promise<Listening>;
  /**
   * Resolves when every worker has applied the delta: no later request is served with an older generation. Rejects with
   * NeedsFullState if `from` is not the current generation, and with CapacityError if the delta does not fit. After a
   * rejection the data plane continues with the table it had.
   */
  apply(delta: Delta): Promise<void>;
  /**
   * Not ready while the data plane does not listen or has no table. `reasons` are for the readiness probe. `warnings`: what is
   * not served, although the data plane is ready.
   */
  health(): { ready: boolean; reasons: string[]; warnings?: string[] };
  /** What the data plane has no room for. Absent if it has no limit. */
  unserved?(): Unserved[];
  /** In the text format of Prometheus. Names, labels and help are in `traffic-metrics.ts`. */
  metrics(): Promise<string>;
  /** Accepts no new connections, and waits up to `ms` for requests to end. */
  drain(ms: number): Promise<void>;
  /** Closes all connections and frees all resources. */
  close(): Promise<void>;
}

/** The ports that the data plane listens on. */
export interface Listening {
  http: number;
  https: number;
}

/**
 * The data plane does not have the generation that a delta starts from, for example after a restart. Send a full
 * state.
 */
export class NeedsFullState extends Error {
  override readonly name = 'NeedsFullState';
}

/** The memory of the data plane is full, also without what it can withhold. No part of the delta is served. */
export class CapacityError extends Error {
  override readonly name = 'CapacityError';
}

/** Options that do not change while the data plane runs. */
export interface DriverOptions {
  address: string;
  /** Zero chooses a free port. */
  httpPort: number;
  httpsPort: number;
  /** Every connection must begin with a header of the PROXY protocol, version 1 or 2. Default: none may. */
  proxyProtocol?: boolean;
  /** For files that the data plane keeps, for example its default certificate. */
  directory: string;
  /** For metrics and the access log. */
  className: string;
  /** The name of the L7Router, for metrics and the access log. */
  router?: string;
  /** Proves which router this is, see `identityHost`. Without it, the router cannot be identified. */
  identity?: string;
  /** Limits of routes that do not set their own. A `maxBodyBytes` of 0 means no limit. */
  defaults: { connectTimeoutMs: number; readTimeoutMs: number; maxBodyBytes: number };
}
