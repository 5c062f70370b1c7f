/** One line of the access log, as JSON. The same of every data plane. */
export interface AccessLogEntry {
  /** RFC 3339. */
  time: string;
  requestId: string;
  client: string;
  class: string;
  scheme: 'http' | 'https';
  method: string;
  /** As the client says it. */
  host: string;
  target: string;
  /** `HTTP/1.1`, `HTTP/2.0`. */
  protocol: string;
  status: number;
  /** Of the body that went to the client. */
  bytes: number;
  seconds: number;
  /** `<namespace>/<name>` of the Ingress and of the Service; empty where nothing was found. */
  ingress: string;
  service: string;
  /** `address:port` of those that were asked, with commas; the last one answered. */
  endpoints: string;
  userAgent: string;
}
