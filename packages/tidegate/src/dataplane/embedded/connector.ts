import type { ClientPair } from '../../ingress/model.ts';
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

/** What belongs to connections, and not to single requests. */
export interface ConnectorOptions {
  readonly connectTimeoutMs: number;
  /** The endpoint may send larger heads of responses. */
  readonly largeHead: boolean;
  /** For connections over TLS. */
  readonly pair: ClientPair | undefined;
}

/** One attempt to send a request. */
export interface Call {
  /** Undefined if the request has no body. */
  readonly body: RequestBody | undefined;
  /** Longest pause of the endpoint, before and within the response. */
  readonly readTimeoutMs: number;
  /** Longest pause of the endpoint while it reads the body. */
  readonly sendTimeoutMs: number;
  /** Whether another endpoint gets the request if this one answers with this status. */
  readonly retriesStatus: (status: number) => boolean;
  /** Called when the endpoint has sent the headers of a response: its back-off ends. */
  readonly onHead: () => void;
}
