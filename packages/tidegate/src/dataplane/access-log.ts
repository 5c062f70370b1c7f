/** One line of the access log, as JSON. All data planes write the same fields. */
export interface AccessLogEntry {
  /** RFC 3339. */
  time: string;
  requestId: string;
  client: string;
  class: string;
  /** The name of the L7Router; empty without one. */
  router: string;
  scheme: 'http' | 'https';
  method: string;
  /** The Host header as the client sent it. */
  host: string;
  /** Path and query as the client sent them. */
  target: string;
  /** For example `HTTP/1.1` or `HTTP/2.0`. */
  protocol: string;
  status: number;
  /** The size of the response body. */
  bytes: number;
  seconds: number;
  /** `<namespace>/<name>` of the Ingress and of the Service; empty if no route matched. */
  ingress: string;
  service: string;
  /** `address:port` of each endpoint that was tried, comma-separated, in this order. */
  endpoints: string;
  userAgent: string;
}
