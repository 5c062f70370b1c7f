/**
 * Headers with which proxies describe a request to the servers behind them: the address of the client, and the host, the
 * scheme and the URL that it used. Backends trust them, so a client must not be able to send them. Both data planes discard
 * them, and then set those that the router vouches for. Names are in lower case.
 */
export const PROXY_HEADERS: ReadonlySet<string> = new Set([
  // The address of the client.
  ...['forwarded', 'x-forwarded', 'forwarded-for', 'x-forward-for', 'x-real-ip', 'x-real-port'],
  ...[
    'client-ip',
    'x-client-ip',
    'true-client-ip',
    'x-true-client-ip',
    'x-cluster-client-ip',
    'x-client-ips',
  ],
  ...['x-remote-ip', 'x-remote-addr', 'x-originating-ip', 'x-proxyuser-ip', 'proxy-client-ip'],
  ...['wl-proxy-client-ip', 'cf-connecting-ip', 'cf-connecting-ipv6', 'cf-pseudo-ipv4', 'fastly-client-ip'],
  ...[
    'fly-client-ip',
    'x-azure-clientip',
    'x-azure-socketip',
    'x-appengine-user-ip',
    'x-nf-client-connection-ip',
  ],
  // The scheme.
  ...[
    'x-scheme',
    'x-url-scheme',
    'x-client-scheme',
    'front-end-https',
    'x-https',
    'x-arr-ssl',
    'wl-proxy-ssl',
  ],
  // The host and the URL.
  ...['x-host', 'x-http-host-override', 'x-rewrite-url', 'x-request-uri', 'request-uri'],
  // The certificate of the client.
  ...['x-client-cert', 'x-client-certificate', 'x-arr-clientcert'],
  // CGI turns it into the environment variable HTTP_PROXY.
  'proxy',
]);

/** Headers that begin with one of these are discarded too. */
export const PROXY_HEADER_PREFIXES: readonly string[] = [
  'x-forwarded-',
  'x-original-',
  'x-envoy-',
  'ssl-client-',
  'x-ssl-client-',
];

/** Whether the header of a client is discarded. `name` is in lower case. */
export const isProxyHeader = (name: string): boolean =>
  PROXY_HEADERS.has(name) || PROXY_HEADER_PREFIXES.some((prefix) => name.startsWith(prefix));
