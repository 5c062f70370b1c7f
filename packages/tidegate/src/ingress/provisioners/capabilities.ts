/**
 * What some load balancers can do and others cannot. Everything else in the route model is mandatory: hosts, wildcard
 * hosts, `Exact` and `Prefix` paths in their order of precedence, default backends, and 503 without endpoints.
 */
export const CAPABILITIES = {
  tls: 'certificates by server name',
  ciphers: 'ciphers of TLS connections for single hosts',
  sslRedirect: 'redirects from HTTP to HTTPS',
  rulesWithoutHost: 'rules without a host, after the rules of all hosts',
  backendHttps: 'HTTPS to endpoints',
  backendGrpc: 'gRPC to endpoints',
  backendTls: 'certificates and other settings of TLS connections to endpoints',
  leastConnections: 'the balance leastConnections',
  ewma: 'the balance ewma',
  serviceAddresses: 'the addresses of Services in place of their endpoints',
  connectTimeout: 'a timeout for connections to endpoints',
  readTimeout: 'a timeout for data from endpoints',
  sendTimeout: 'a timeout for data to endpoints',
  retries: 'conditions for sending a request to another endpoint',
  maxBodySize: 'a maximum size of request bodies',
  externalNames: 'endpoints that are DNS names',
  sourceRanges: 'allow and deny lists of client addresses',
  basicAuth: 'names and passwords of users',
  clientCertificates: 'certificates of clients',
  externalAuth: 'authentication by another server',
  rateLimits: 'limits for the requests of a client',
  throttles: 'limits for the speed of responses',
  cors: 'headers for browsers of other sites (CORS)',
  redirects: 'redirects to other URLs, and to HTTPS for single paths',
  rewrites: 'other paths and hosts for endpoints',
  responseHeaders: 'other hosts and paths in redirects and cookies of endpoints',
  customHeaders: 'headers of a ConfigMap in responses',
  errors: 'another backend for errors',
  mirrors: 'copies of requests for another server',
  regexPaths: 'paths that are regular expressions',
  canaries: 'canaries',
  hashing: 'keys whose requests get the same endpoint',
  affinity: 'cookies that keep a client at an endpoint',
  pool: 'running in a pool of nodes',
} as const;

export type Capability = keyof typeof CAPABILITIES;
