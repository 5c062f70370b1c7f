/** The parts of the configuration that proxy requests. */
import { PROXY_HEADERS } from '../client-headers.ts';

/**
 * Idle connections are closed before common servers close them (Node.js: after 5 s). If the endpoint closed first, a
 * request that must not be sent twice could be written to a connection that is already closed.
 */
const UPSTREAM_IDLE_SECONDS = 4;
/** Per worker. */
const UPSTREAM_CONNECTIONS = 512;

/**
 * nginx has no upstream per Service, because those would have to be in the configuration. It has one per protocol, since
 * connections of different protocols cannot be shared. `balance.lua` sets the real address; 0.0.0.1 is never contacted.
 */
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

/** One location block. `lua` runs in the access phase, before the request is proxied. */
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

/** These headers always come from the router: a client cannot set them. */
const HEADERS = {
  'X-Request-Id': '$tidegate_request_id',
  'X-Real-IP': '$remote_addr',
  'X-Forwarded-For': '$remote_addr',
  'X-Forwarded-Host': '$http_host',
  'X-Forwarded-Port': '$server_port',
  'X-Forwarded-Proto': '$scheme',
  // nginx discards the trailers themselves.
  Trailer: '""',
};

/**
 * Headers of the client that only proxies may set. A header without a value is not sent, and costs nothing: nginx looks up
 * each header of the client in a table that it builds when it starts. For gRPC that table is small; Lua removes them.
 */
const DISCARDED = Object.fromEntries(
  [...PROXY_HEADERS]
    .filter((name) => !Object.keys(HEADERS).some((own) => own.toLowerCase() === name))
    .map((name) => [name, '""']),
);

const headers = (directive: string, all: Record<string, string>): string[] =>
  Object.entries(all).map(([name, value]) => `${directive} ${name} ${value};`);

const CONNECTION = {
  Connection: '$tidegate_connection',
  Upgrade: '$tidegate_upgrade',
  'HTTP2-Settings': '""',
  'Proxy-Connection': '""',
};

/** Without it nginx would send the name of its upstream block. Pseudo-headers come first, so this wins over Host. */
const AUTHORITY = { ':authority': '$tidegate_host', Host: '""' };

const PROXY = [
  ...headers('proxy_set_header', { Host: '$tidegate_host', ...HEADERS, ...DISCARDED, ...CONNECTION }),
  'proxy_http_version 1.1;',
  // No buffering: bytes are forwarded in both directions as they arrive.
  'proxy_request_buffering off;',
  'proxy_buffering off;',
  'proxy_buffer_size 16k;',
  'proxy_buffers 8 16k;',
  'proxy_redirect off;',
  // nginx discards the trailers themselves.
  'proxy_hide_header Trailer;',
  // nginx does not retry methods that are not idempotent.
  'proxy_next_upstream error timeout;',
  'proxy_ssl_server_name on;',
  'proxy_ssl_name $host;',
  'proxy_ssl_protocols TLSv1.2 TLSv1.3;',
];

const GRPC = [
  ...headers('grpc_set_header', { ...AUTHORITY, ...HEADERS }),
  'grpc_next_upstream error timeout;',
];
