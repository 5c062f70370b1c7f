import type { Delta } from '../ingress/model.ts';

/** What carries the bytes. One agent holds one driver, and tells it of every change in order. */
export interface Driver {
  /**
   * Resolves when it listens. Whoever asks is answered by the first delta, which is a whole, from the first request on;
   * while there is none every answer is 503. Rejects with CapacityError when it does not fit: then it has not started.
   */
  start(first?: Delta): Promise<Listening>;
  /**
   * Resolves when every worker goes by it. Rejects with NeedsFullState when `from` is not what it has, and with
   * CapacityError when it does not fit: then it goes on with what it had.
   */
  apply(delta: Delta): Promise<void>;
  health(): { ready: boolean; reasons: string[] };
  /** In the text format of Prometheus. */
  metrics(): Promise<string>;
  /** Takes no new connections, and lets requests end for so long. */
  drain(ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface Listening {
  http: number;
  https: number;
}

/** It has lost its place, as after a restart: send everything. */
export class NeedsFullState extends Error {
  override readonly name = 'NeedsFullState';
}

/** There is no room for it. Nothing of the delta is served. */
export class CapacityError extends Error {
  override readonly name = 'CapacityError';
}

/** What a driver is told once, at its start. */
export interface DriverOptions {
  address: string;
  /** Zero takes any free one. */
  httpPort: number;
  httpsPort: number;
  /** Where it may keep what it needs, snapshots among it. */
  directory: string;
  /** For metrics and headers. */
  className: string;
  defaults: { connectTimeoutMs: number; readTimeoutMs: number; maxBodyBytes: number };
}
