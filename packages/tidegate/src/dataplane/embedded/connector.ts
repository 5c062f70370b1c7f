import type { RequestBody } from './body.ts';
import type { Exchange } from './exchange.ts';

/** The ways to one endpoint, its connections are kept for the next request. */
export interface Connector {
  /**
   * Resolves when the client has the whole answer, or is gone. Rejects with UpstreamFailure, or with what is wrong
   * with the body, when nothing was said to the client yet. `onHead` hears that the endpoint answers.
   */
  send(exchange: Exchange, call: Call): Promise<void>;
  /** Lets what goes on end. */
  close(): Promise<void>;
  destroy(): Promise<void>;
}

export interface Call {
  readonly body: RequestBody | undefined;
  readonly readTimeoutMs: number;
  readonly onHead: () => void;
}
