/**
 * What some load balancers can do and others cannot. Everything else in the route model is mandatory: hosts, wildcard
 * hosts, `Exact` and `Prefix` paths in their order of precedence, default backends, and 503 without endpoints.
 */
export const CAPABILITIES = {
  tls: 'certificates by server name',
  sslRedirect: 'redirects from HTTP to HTTPS',
  rulesWithoutHost: 'rules without a host, after the rules of all hosts',
  backendHttps: 'HTTPS to endpoints',
  backendGrpc: 'gRPC to endpoints',
  leastConnections: 'the balance leastConnections',
  connectTimeout: 'a timeout for connections to endpoints',
  readTimeout: 'a timeout for data from endpoints',
  maxBodySize: 'a maximum size of request bodies',
  externalNames: 'endpoints that are DNS names',
  pool: 'running in a pool of nodes',
} as const;

export type Capability = keyof typeof CAPABILITIES;
