/** The parts of the configuration that proxy requests. */

import { PROXY_HEADERS } from '../../ingress/client-headers.ts';
import { RETRIED_STATUSES } from '../../ingress/policy/index.ts';
import { MAX_RESPONSE_HEAD_BYTES } from '../limits.ts';

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

/** One location block. `host` is what endpoints get as Host. `lua` runs in the access phase, before the request is proxied. */
export function location(
  name: string,
  lua: string | undefined,
  { pass, more = '', host = '$tidegate_host' }: { pass: string; more?: string; host?: string },
): string {
  const kind = pass.startsWith('grpc') ? grpc(host) : proxy(host);
  const lines = [lua === undefined ? '' : `access_by_lua_block { ${lua} }`, ...kind, more, pass];
  const text = lines.filter((line) => line !== '').map((line) => `      ${line}`);
  return [`    location ${name} {`, ...text, '    }'].join('\n');
}

/** These headers always come from the router: a client cannot set them. */
const HEADERS = {
  'X-Request-Id': '$tidegate_request_id',
  'X-Real-IP': '$tidegate_client',
  'X-Forwarded-For': '$tidegate_sent_forwarded_for',
  'X-Forwarded-Host': '$tidegate_forwarded_host',
  'X-Forwarded-Port': '$tidegate_port',
  'X-Forwarded-Proto': '$tidegate_scheme',
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
const authority = (host: string) => ({ ':authority': host, Host: '""' });

export const proxy = (host: string): string[] => [
  ...headers('proxy_set_header', { Host: host, ...HEADERS, ...DISCARDED, ...CONNECTION }),
  'proxy_http_version 1.1;',
  // No buffering: bytes are forwarded in both directions as they arrive.
  'proxy_request_buffering off;',
  'proxy_buffering off;',
  `proxy_buffer_size ${MAX_RESPONSE_HEAD_BYTES.usual};`,
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

const grpc = (host: string): string[] => [
  ...headers('grpc_set_header', { ...authority(host), ...HEADERS }),
  'grpc_next_upstream error timeout;',
];

/** Without buffering, nginx uses the first buffer only, but checks the sizes of all. */
const LARGE_HEADS = `proxy_buffer_size ${MAX_RESPONSE_HEAD_BYTES.large}; proxy_buffers 4 ${MAX_RESPONSE_HEAD_BYTES.large};`;

/**
 * One location for each set of statuses after which another endpoint is tried, since nginx accepts no variables there. They
 * inherit everything else: a location costs a few kilobytes. `decode.lua` has the names.
 */
export function ownLocations(pass: string): string {
  const sets = Array.from({ length: 2 ** RETRIED_STATUSES.length }, (_, number) => number);
  const variants = sets.flatMap((number) => [
    { name: `@own${number}`, number, more: '' },
    { name: `@own${number}any`, number, more: ' non_idempotent' },
  ]);
  return variants
    .map(({ name, number, more }) => {
      const statuses = RETRIED_STATUSES.filter((_, at) => number & (2 ** at)).map(
        (status) => ` http_${status}`,
      );
      const next = `proxy_next_upstream error timeout${statuses.join('')}${more};`;
      return `    location ${name} { ${next} ${LARGE_HEADS} ${pass} }`;
    })
    .join('\n');
}
