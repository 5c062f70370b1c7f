import type { Network } from '../policy/networks.ts';

/** What the class of a router says about its clients. Without settings, nothing that a client sends is believed. */
export interface ClientSettings {
  /** The ports that clients connect to. They differ from those of the listeners. */
  readonly ports?: { readonly http: number; readonly https: number };
  /** The addresses of proxies that may report the address of a client. */
  readonly trusted?: readonly Network[];
  /**
   * The header in which trusted proxies report the addresses of clients, in lower case. For `forwarded`, the syntax is that of
   * RFC 7239, otherwise that of X-Forwarded-For. Absent: no header counts.
   */
  readonly header?: string;
  /** Trusted proxies also report the scheme, the host and the port that the client has used. */
  readonly wholeUrl?: true;
  /** Endpoints get all addresses of X-Forwarded-For, and not only that of the client. */
  readonly fullForwardedFor?: true;
}
