/** The parts of the configuration that carry bytes. Constant but for what `location` is told. */

/**
 * Idle connections are given up before the usual servers do so (Node: 5 s). The other way round, a request that must
 * not be sent twice may meet an end that is already closed.
 */
const UPSTREAM_IDLE_SECONDS = 4;
/** For each worker. */
const UPSTREAM_CONNECTIONS = 512;

/** Who speaks what: connections of one are of no use to another. The address is never used. */
export const NGINX_UPSTREAM_BLOCKS = ['http', 'https', 'grpc']
  .map(
    (protocol) => `  upstream tidegate_${protocol} {
    server 0.0.0.1;
    balancer_by_lua_block { tidegate.balance() }
    keepalive ${UPSTREAM_CONNECTIONS};
    keepalive_timeout ${UPSTREAM_IDLE_SECONDS}s;
    keepalive_requests 1000000;
  }`,
  )
  .join('\n');

export function location(
  name: string,
  lua: string | undefined,
  { pass, more = '' }: { pass: string; more?: string },
): string {
  const kind = pass.startsWith('grpc') ? GRPC : PROXY;
  const lines = [lua === undefined ? '' : `access_by_lua_block { ${lua} }`, ...kind, more, pass];
  const text = lines.filter((line) => line !== '').map((line) => `      ${line}`);
  return [`    location ${name} {`, ...text, '    }'].join('\n');
}

/** What clients say of themselves does not count. */
const HEADERS = {
  'X-Request-Id': '$tidegate_request_id',
  'X-Real-IP': '$remote_addr',
  'X-Forwarded-For': '$remote_addr',
  'X-Forwarded-Host': '$http_host',
  'X-Forwarded-Port': '$server_port',
  'X-Forwarded-Proto': '$scheme',
  Forwarded: '""',
  // Becomes HTTP_PROXY in CGI.
  Proxy: '""',
};

const headers = (directive: string, all: Record<string, string>): string[] =>
  Object.entries(all).map(([name, value]) => `${directive} ${name} ${value};`);

const CONNECTION = {
  Connection: '$tidegate_connection',
  Upgrade: '$tidegate_upgrade',
  'HTTP2-Settings': '""',
};

/** nginx would say the name of its upstream. Pseudo-headers are the first, so this is. */
const AUTHORITY = { ':authority': '$tidegate_host', Host: '""' };

const PROXY = [
  ...headers('proxy_set_header', { Host: '$tidegate_host', ...HEADERS, ...CONNECTION }),
  'proxy_http_version 1.1;',
  // Bytes go on as they come, in both directions.
  'proxy_request_buffering off;',
  'proxy_buffering off;',
  'proxy_buffer_size 16k;',
  'proxy_buffers 8 16k;',
  'proxy_redirect off;',
  // Never what may have been done already: nginx knows the methods.
  'proxy_next_upstream error timeout;',
  'proxy_ssl_server_name on;',
  'proxy_ssl_name $host;',
  'proxy_ssl_protocols TLSv1.2 TLSv1.3;',
];

const GRPC = [
  ...headers('grpc_set_header', { ...AUTHORITY, ...HEADERS }),
  'grpc_next_upstream error timeout;',
];
