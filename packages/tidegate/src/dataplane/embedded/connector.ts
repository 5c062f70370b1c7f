import type { RequestBody } from './body.ts';
import type { Exchange } from './exchange.ts';

/** Sends requests to one endpoint, and keeps its connections for further requests. */
export interface Connector {
  /**
   * Resolves when the client has received the whole response, or has closed the connection. Rejects with UpstreamFailure,
   * BodyTooLarge or BodyTooSlow, but only while no part of a response has been sent to the client. Calls `onHead` when the
   * endpoint answers.
   */
  send(exchange: Exchange, call: Call): Promise<void>;
  /** Closes the connections after their current requests. */
  close(): Promise<void>;
  destroy(): Promise<void>;
}

export interface Call {
  readonly body: RequestBody | undefined;
  readonly readTimeoutMs: number;
  readonly onHead: () => void;
}
