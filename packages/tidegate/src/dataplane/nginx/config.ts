import type { AccessLogEntry } from '../access-log.ts';
import { location, NGINX_UPSTREAM_BLOCKS } from './config-locations.ts';

/** All that the configuration depends on, said by the agent. Nothing that tenants write gets in here. */
export interface ConfigInputs {
  modules: readonly string[];
  lua: string;
  runtime: string;
  defaultCertificate: string;
  address: string;
  httpPort: number;
  httpsPort: number;
  workers: number;
  className: string;
  /** A name that no other nginx has, for the ids of its requests. */
  instance: string;
  connectTimeoutMs: number;
  readTimeoutMs: number;
  maxBodyBytes: number;
  memory: Readonly<Record<Dictionary, number>>;
  /** A file, or nothing. */
  accessLog: string | undefined;
  /** A file with the changes to begin with, or nothing. */
  first: string | undefined;
}

/** What is kept in shared memory, by kind. */
export type Dictionary = 'hosts' | 'upstreams' | 'certificates';

export const CONTROL_SOCKET = 'control/socket';
export const PID_FILE = 'nginx.pid';

/** Bodies whose length is not said beforehand are counted against the next of these; see `body.lua`. */
const BODY_SIZES = [20, 25, 30].map((power) => 2 ** power);

/** Requests without a path that nginx could read can go to no location but one with a path. Nobody's, for all we know. */
const UNREADABLE = '/ unreadable request #';

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
  lua_package_path ${quoted(`${inputs.lua}/?.lua`, ';;')};
  lua_shared_dict tidegate_hosts ${memory.hosts};
  lua_shared_dict tidegate_upstreams ${memory.upstreams};
  lua_shared_dict tidegate_certificates ${memory.certificates};
  lua_shared_dict tidegate_metrics 32m;
  lua_shared_dict tidegate_state 1m;
  init_by_lua_block {
    local settings = require "tidegate.settings"
    settings.connect_timeout_ms = ${inputs.connectTimeoutMs}
    settings.read_timeout_ms = ${inputs.readTimeoutMs}
    settings.max_body_bytes = ${inputs.maxBodyBytes}
    settings.body_sizes = { ${BODY_SIZES.join(', ')} }
    settings.access_log = ${inputs.accessLog !== undefined}
    settings.first = ${inputs.first === undefined ? 'nil' : quoted(inputs.first)}
    require "tidegate.init"
  }
  init_worker_by_lua_block { tidegate.worker() }

${temporaryPaths(runtime)}
${accessLog(inputs)}
  server_tokens off;
  uninitialized_variable_warn off;
  keepalive_timeout 75s;
  keepalive_requests 1000000;
  client_max_body_size 0;
  client_body_buffer_size 64k;
  large_client_header_buffers 4 16k;
  underscores_in_headers on;
  merge_slashes off;
${timeouts(inputs)}

  # Nothing but a WebSocket: other protocols could carry requests past the routes.
  map $http_upgrade $tidegate_connection {
    default "";
    websocket upgrade;
  }
  map $http_upgrade $tidegate_upgrade {
    default "";
    websocket websocket;
  }
  # HTTP/1.0 has requests without a host, and HTTP/1.1, by which endpoints are asked, has not.
  map $http_host $tidegate_host {
    default $http_host;
    "" $server_addr;
  }
  # Our own are of no other request of any nginx: $request_id would ask for random bytes each time.
  map $http_x_request_id $tidegate_request_id {
    default "${inputs.instance}-$connection-$connection_requests";
    "" "${inputs.instance}-$connection-$connection_requests";
    "~^[A-Za-z0-9_-]{1,64}$" $http_x_request_id;
  }

${NGINX_UPSTREAM_BLOCKS}

  server {
    listen ${listen(inputs.address, inputs.httpPort)};
${locations('false')}
  }
  server {
    listen ${listen(inputs.address, inputs.httpsPort)} ssl http2;
    ssl_certificate ${quoted(inputs.defaultCertificate)};
    ssl_certificate_key ${quoted(inputs.defaultCertificate)};
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_session_cache shared:tidegate:10m;
    ssl_certificate_by_lua_block { tidegate.certificate() }
${locations('true')}
  }
  server {
    listen ${quoted(`unix:${runtime}/${CONTROL_SOCKET}`)};
    access_log off;
    client_body_buffer_size 32m;
    client_body_in_single_buffer on;
    location = /change { content_by_lua_block { tidegate.control.change() } }
    location = /state { content_by_lua_block { tidegate.control.state() } }
    location = /metrics { content_by_lua_block { tidegate.metrics.print() } }
  }
}
`;
}

/** Each request begins in the first; where it goes on is said by what the Lua there finds. */
function locations(secure: 'true' | 'false'): string {
  const measured = BODY_SIZES.map((size, index) =>
    location(`@measured${index + 1}`, 'tidegate.body.measured()', {
      pass: 'proxy_pass $tidegate_protocol://tidegate_$tidegate_protocol;',
      more: `client_max_body_size ${size};`,
    }),
  );
  return `    log_by_lua_block { tidegate.ended() }
    error_page 408 413 500 502 503 504 @failed;
    error_page 400 414 494 "${UNREADABLE}";
${location('/', `tidegate.serve(${secure})`, { pass: 'proxy_pass http://tidegate_http;' })}
${location('@https', undefined, { pass: 'proxy_pass https://tidegate_https;' })}
${location('@grpc', undefined, { pass: 'grpc_pass grpc://tidegate_grpc;' })}
${measured.join('\n')}
    location @failed {
      content_by_lua_block { tidegate.answer(ngx.status) }
    }
    location = "${UNREADABLE}" {
      internal;
      # Here they are declared, at no cost for other requests. It is Lua that sets them.
      set $tidegate_protocol "";
      set $tidegate_ingress "";
      set $tidegate_service "";
      content_by_lua_block { tidegate.answer(400) }
    }`;
}

const timeouts = ({ connectTimeoutMs, readTimeoutMs }: ConfigInputs): string =>
  ['proxy', 'grpc']
    .map(
      (kind) => `  ${kind}_connect_timeout ${connectTimeoutMs}ms;
  ${kind}_read_timeout ${readTimeoutMs}ms;
  ${kind}_send_timeout ${readTimeoutMs}ms;`,
    )
    .join('\n');

/** nginx makes all of them, used or not. */
const temporaryPaths = (runtime: string): string =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${quoted(`${runtime}/temporary/${name}`)};`)
    .join('\n');

/** An AccessLogEntry. */
function accessLog({ accessLog: path, className }: ConfigInputs): string {
  if (path === undefined) return '  access_log off;';
  if (!/^[a-z0-9.-]+$/.test(className))
    throw new Error(`${JSON.stringify(className)} can be no IngressClass`);
  const values: Record<keyof AccessLogEntry, string> = {
    time: '"$time_iso8601"',
    requestId: '"$tidegate_request_id"',
    client: '"$remote_addr"',
    class: `"${className}"`,
    scheme: '"$scheme"',
    method: '"$request_method"',
    host: '"$http_host"',
    target: '"$request_uri"',
    protocol: '"$server_protocol"',
    status: '$status',
    bytes: '$body_bytes_sent',
    seconds: '$request_time',
    ingress: '"$tidegate_ingress"',
    service: '"$tidegate_service"',
    endpoints: '"$upstream_addr"',
    userAgent: '"$http_user_agent"',
  };
  const fields = Object.entries(values).map(([name, value]) => `"${name}":${value}`);
  return `  log_format tidegate escape=json '{${fields.join()}}';
  access_log ${quoted(path)} tidegate;`;
}

const listen = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port} ipv6only=off` : `${address}:${port}`;

/** Paths are ours, but a quote or a variable in one would still be read as syntax. */
function quoted(path: string, more = ''): string {
  if (/["$\\\n;{}]/.test(path)) {
    throw new Error(`nginx can not use the path ${JSON.stringify(path)}: choose one without quotes and $;{}`);
  }
  return `"${path}${more}"`;
}
