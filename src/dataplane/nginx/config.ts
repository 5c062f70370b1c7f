/** All that the configuration depends on: numbers and paths of the agent. Nothing that tenants write gets in here. */
export interface ConfigInputs {
  modules: readonly string[];
  lua: string;
  runtime: string;
  defaultCertificate: string;
  address: string;
  httpPort: number;
  httpsPort: number;
  workers: number;
  connectTimeoutMs: number;
  readTimeoutMs: number;
  maxBodyBytes: number;
  memory: Readonly<Record<Dictionary, number>>;
  /** A file, or nothing. */
  accessLog: string | undefined;
}

/** What is kept in shared memory, by kind. */
export type Dictionary = 'hosts' | 'pools' | 'certificates';

export const CONTROL_SOCKET = 'control/socket';
export const PID_FILE = 'nginx.pid';

/**
 * Idle connections are given up before the usual servers do so (Node: 5 s). The other way round, a request that must
 * not be sent twice may meet an end that is already closed.
 */
const UPSTREAM_IDLE_SECONDS = 4;
/** For each worker. */
const UPSTREAM_CONNECTIONS = 512;

/** The one nginx.conf. It never changes while nginx runs. */
export function nginxConfig(inputs: ConfigInputs): string {
  const { runtime, memory } = inputs;
  return `daemon off;
${inputs.modules.map((path) => `load_module ${quoted(path)};`).join('\n')}
pid ${quoted(`${runtime}/${PID_FILE}`)};
error_log stderr warn;
worker_processes ${inputs.workers};
events {
  worker_connections 8192;
}
http {
  lua_package_path ${quoted(`${inputs.lua}/?.lua;;`)};
  lua_shared_dict tidegate_hosts ${memory.hosts};
  lua_shared_dict tidegate_pools ${memory.pools};
  lua_shared_dict tidegate_certificates ${memory.certificates};
  lua_shared_dict tidegate_state 1m;
  init_by_lua_block {
    local settings = require "tidegate.settings"
    settings.connect_timeout_ms = ${inputs.connectTimeoutMs}
    settings.read_timeout_ms = ${inputs.readTimeoutMs}
    settings.max_body_bytes = ${inputs.maxBodyBytes}
    require "tidegate.init"
  }
  init_worker_by_lua_block { require "tidegate.worker" () }

${temporaryPaths(runtime)}
${accessLog(inputs.accessLog)}
  server_tokens off;
  tcp_nodelay on;
  keepalive_timeout 75s;
  keepalive_requests 100000;
  client_max_body_size 0;
  large_client_header_buffers 4 16k;
  # Names as clients spell them; which of them mean anything is the backends' affair.
  underscores_in_headers on;
  ignore_invalid_headers on;
  merge_slashes off;

  # Nothing but a WebSocket: other protocols could carry requests past the routes.
  map $http_upgrade $tidegate_connection {
    default "";
    websocket upgrade;
  }
  map $http_upgrade $tidegate_upgrade {
    default "";
    websocket websocket;
  }
  map $http_x_request_id $tidegate_request_id {
    default $request_id;
    "~^[A-Za-z0-9_-]{1,64}$" $http_x_request_id;
  }

${['http', 'https', 'grpc'].map(upstream).join('\n')}

  server {
    listen ${listen(inputs.address, inputs.httpPort)} default_server;
    set $tidegate_handed "";
${locations('false')}
  }
  server {
    listen ${listen(inputs.address, inputs.httpsPort)} ssl http2 default_server;
    ssl_certificate ${quoted(inputs.defaultCertificate)};
    ssl_certificate_key ${quoted(inputs.defaultCertificate)};
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:tidegate:10m;
    ssl_certificate_by_lua_block { require "tidegate.certificate" () }
    set $tidegate_handed "";
${locations('true')}
  }
  server {
    listen ${quoted(`unix:${runtime}/${CONTROL_SOCKET}`)};
    access_log off;
    client_body_buffer_size 32m;
    client_body_in_single_buffer on;
    location = /change { content_by_lua_block { require "tidegate.control".change() } }
    location = /state { content_by_lua_block { require "tidegate.control".state() } }
  }
}
`;
}

/** Whoever answers: where it goes is decided by what \`route\` has found. */
function locations(secure: 'true' | 'false'): string {
  return `    location / {
      access_by_lua_block { require "tidegate.serve".route(${secure}) }
${PROXY}
      proxy_pass http://tidegate_http;
    }
    location @https {
      access_by_lua_block { require "tidegate.serve".take_over() }
${PROXY}
      proxy_ssl_server_name on;
      proxy_ssl_name $host;
      proxy_ssl_protocols TLSv1.2 TLSv1.3;
      proxy_pass https://tidegate_https;
    }
    location @grpc {
      access_by_lua_block { require "tidegate.serve".take_over() }
${GRPC}
      grpc_pass grpc://tidegate_grpc;
    }`;
}

const HEADERS = {
  Host: '$http_host',
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

const headers = (directive: string, more: Record<string, string> = {}): string =>
  Object.entries({ ...HEADERS, ...more })
    .map(([name, value]) => `      ${directive} ${name} ${value};`)
    .join('\n');

const PROXY = `${headers('proxy_set_header', { Connection: '$tidegate_connection', Upgrade: '$tidegate_upgrade' })}
      proxy_http_version 1.1;
      proxy_request_buffering off;
      proxy_buffering off;
      proxy_redirect off;
      proxy_next_upstream error timeout;
      log_by_lua_block { require "tidegate.ended" () }`;

const GRPC = `${headers('grpc_set_header')}
      grpc_next_upstream error timeout;
      log_by_lua_block { require "tidegate.ended" () }`;

const upstream = (kind: string): string => `  upstream tidegate_${kind} {
    server 0.0.0.1;
    balancer_by_lua_block { require "tidegate.balance" () }
    keepalive ${UPSTREAM_CONNECTIONS};
    keepalive_timeout ${UPSTREAM_IDLE_SECONDS}s;
    keepalive_requests 100000;
  }`;

/** nginx makes all of them, used or not. */
const temporaryPaths = (runtime: string): string =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${quoted(`${runtime}/temporary/${name}`)};`)
    .join('\n');

function accessLog(path: string | undefined): string {
  return path === undefined ? '  access_log off;' : `  access_log ${quoted(path)};`;
}

const listen = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port} ipv6only=off` : `${address}:${port}`;

/** Paths are ours, but a quote or a variable in one would still be read as syntax. */
function quoted(path: string): string {
  if (/["$\\\n;{}]/.test(path.replace(/\?\.lua;;$/, ''))) {
    throw new Error(`nginx can not use the path ${JSON.stringify(path)}: choose one without quotes and $;{}`);
  }
  return `"${path}"`;
}
