import { sectionPorts } from '../../api/index.ts';
import type { AccessLogEntry } from '../access-log.ts';
import { identityHost } from '../answers.ts';
import {
  CLIENT_HEADERS_MS,
  CLIENT_IDLE_MS,
  CLIENT_STALL_MS,
  MAX_HEAD_BYTES,
  MAX_LINE_BYTES,
  MAX_MIRRORED,
  MAX_UNKNOWN_BODY_BYTES,
} from '../limits.ts';
import { location, NGINX_UPSTREAM_BLOCKS, ownLocations, proxy } from './config-locations.ts';
import { luaSettings } from './lua-settings.ts';

/** Everything that the configuration depends on. All of it comes from the agent, nothing from objects of tenants. */
export interface ConfigInputs {
  modules: readonly string[];
  /** Whether HTTP/2 is a directive of its own. Older versions have it as a parameter of `listen`, newer ones warn about that. */
  hasHttp2Directive: boolean;
  lua: string;
  runtime: string;
  defaultCertificate: string;
  address: string;
  httpPort: number;
  httpsPort: number;
  /** Every connection begins with a header of the PROXY protocol. */
  proxyProtocol: boolean;
  /** How many sections the table has, each with ports of its own. Zero: a table of one router. */
  sections: number;
  workers: number;
  className: string;
  /** The name of the L7Router; empty without one. */
  router: string;
  /** Proves which router this is, see `identityHost`. */
  identity: string | undefined;
  /** Unique among all nginx processes: it makes request IDs unique. */
  instance: string;
  /** The mark of requests that the router sends itself. */
  mark: string;
  connectTimeoutMs: number;
  readTimeoutMs: number;
  maxBodyBytes: number;
  memory: Readonly<Record<Dictionary, number>>;
  /** The path of the access log; undefined writes none. */
  accessLog: string | undefined;
  /** The path of a file with the table to serve from the first request on; undefined starts with an empty table. */
  initialTable: string | undefined;
  /** The directory with the sockets of `relays.ts`. */
  relayDirectory: string;
}

/** The shared dictionaries that hold the route table. */
export type Dictionary = 'hosts' | 'upstreams' | 'certificates' | 'credentials';

export const CONTROL_SOCKET = 'control/socket';
export const PID_FILE = 'nginx.pid';

/**
 * A buffer holds whole lines. Lua counts the bytes of all lines, so there are enough buffers for a head of any allowed size,
 * even if each of them is only half full.
 */
const HEADER_BUFFERS = (2 * MAX_HEAD_BYTES) / MAX_LINE_BYTES + 1;

/** Limits for request bodies without a Content-Length; see `lua/tidegate/body.lua`. */
const BODY_SIZES = [2 ** 20, 2 ** 25, MAX_UNKNOWN_BODY_BYTES];

/**
 * If nginx cannot parse a request, it has no path, and nginx can redirect it only to a location with a path, not to a
 * named one. No request of a client can have this path: it contains spaces and `#`.
 */
const UNREADABLE = '/ unreadable request #';
const TOO_LARGE = '/ headers too large #';

/** The only nginx.conf. It never changes while nginx runs: routes are data in shared dictionaries, not configuration. */
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
  lua_shared_dict tidegate_credentials ${memory.credentials};
  lua_shared_dict tidegate_limits 32m;
  lua_shared_dict tidegate_auth 16m;
  # For servers that authenticate clients. Lua logs what matters.
  lua_socket_log_errors off;
  # For copies of requests.
  lua_max_running_timers ${MAX_MIRRORED};
  lua_ssl_protocols TLSv1.2 TLSv1.3;
  lua_shared_dict tidegate_metrics 32m;
  lua_shared_dict tidegate_state 1m;
  init_by_lua_block {
${luaSettings({
  connectTimeoutMs: inputs.connectTimeoutMs,
  readTimeoutMs: inputs.readTimeoutMs,
  maxBodyBytes: inputs.maxBodyBytes,
  bodySizes: BODY_SIZES,
  accessLog: inputs.accessLog !== undefined,
  mark: inputs.mark,
  proxyProtocol: inputs.proxyProtocol,
  initialTable: inputs.initialTable,
  relayDirectory: inputs.relayDirectory,
})}
    require "tidegate.init"
  }
  init_worker_by_lua_block { tidegate.worker() }

${temporaryPaths(runtime)}
${accessLog(inputs)}
  server_tokens off;
  # The name with the identity of the router is longer than the default allows.
  server_names_hash_bucket_size 128;
  uninitialized_variable_warn off;
  keepalive_timeout ${CLIENT_IDLE_MS}ms;
  keepalive_requests 1000000;
  client_max_body_size 0;
  client_body_buffer_size 64k;
  large_client_header_buffers ${HEADER_BUFFERS} ${MAX_LINE_BYTES};
  client_header_timeout ${CLIENT_HEADERS_MS}ms;
  client_body_timeout ${CLIENT_STALL_MS}ms;
  send_timeout ${CLIENT_STALL_MS}ms;
  # Endpoints with CGI or WSGI would take X_Real_IP for X-Real-IP: only letters, digits and hyphens are allowed in names.
  underscores_in_headers off;
  ignore_invalid_headers on;
  merge_slashes off;
  # For the names of all headers that are set or discarded.
  proxy_headers_hash_max_size 2048;
  proxy_headers_hash_bucket_size 128;
${timeouts(inputs)}

  # WebSocket only: over another protocol, a client could send requests that bypass the routes.
  map $http_upgrade $tidegate_connection {
    default "";
    websocket upgrade;
  }
  map $http_upgrade $tidegate_upgrade {
    default "";
    websocket websocket;
  }
  # A request of HTTP/1.0 may have no Host header. Endpoints get HTTP/1.1, which requires one.
  map $http_host $tidegate_host {
    default $http_host;
    "" $server_addr;
  }
  # The host that a policy sets for endpoints, or else that of the client.
  map $tidegate_vhost $tidegate_sent_host {
    default $tidegate_vhost;
    "" $tidegate_host;
  }
  # What trusted proxies and the class report about the client, or else what the connection shows.
${REPORTED}
  # Unique without $request_id, which would read random bytes for each request.
  map $http_x_request_id $tidegate_request_id {
    default "${inputs.instance}-$connection-$connection_requests";
    "" "${inputs.instance}-$connection-$connection_requests";
    "~^[A-Za-z0-9_-]{1,64}$" $http_x_request_id;
  }

${NGINX_UPSTREAM_BLOCKS}

  server {
    listen ${listen(inputs.address, inputs.httpPort)}${proxied(inputs)};
${locations('false', noSection(inputs, ', '))}
  }
${identityServer(inputs)}  server {
${secure(inputs, `${inputs.httpsPort}`, ONE_ROUTER_SESSIONS)}
    ssl_certificate_by_lua_block { tidegate.certificate(${noSection(inputs)}) }
${locations('true', noSection(inputs, ', '))}
  }
${sectionServers(inputs)}  server {
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

/** Lua sets the first variable of each, if there is something to report. */
const REPORTED = [
  ['reported_client', 'client', '$remote_addr'],
  ['reported_scheme', 'scheme', '$scheme'],
  ['reported_host', 'forwarded_host', '$http_host'],
  ['reported_port', 'port', '$server_port'],
  ['forwarded_for', 'sent_forwarded_for', '$tidegate_client'],
]
  .map(
    ([reported, result, otherwise]) => `  map $tidegate_${reported} $tidegate_${result} {
    default $tidegate_${reported};
    "" ${otherwise};
  }`,
  )
  .join('\n');

const proxied = ({ proxyProtocol }: Pick<ConfigInputs, 'proxyProtocol'>): string =>
  proxyProtocol ? ' proxy_protocol' : '';

const ONE_ROUTER_SESSIONS = 'ssl_session_cache shared:tidegate:10m;';
/**
 * All sections have the same TLS context. If a client resumed a session of another section, it would take one router for the
 * other, without seeing its certificate.
 */
const SECTION_SESSIONS = 'ssl_session_cache off; ssl_session_tickets off;';

const secure = (inputs: ConfigInputs, ports: string, sessions: string): string =>
  `    listen ${listen(inputs.address, ports)} ssl${proxied(inputs)}${inputs.hasHttp2Directive ? ';\n    http2 on' : ' http2'};
    ssl_certificate ${quoted(inputs.defaultCertificate)};
    ssl_certificate_key ${quoted(inputs.defaultCertificate)};
    ssl_protocols TLSv1.2 TLSv1.3;
    ${sessions}`;

/** Sections begin with 1. On the ports of no section, requests find nothing: not even a host whose name begins with a section. */
const noSection = ({ sections }: ConfigInputs, before = ''): string => (sections === 0 ? '' : `${before}0`);

/** The ports of all sections are open from the start, because nginx never reloads. Lua knows the section by the port. */
function sectionServers(inputs: ConfigInputs): string {
  if (inputs.sections === 0) return '';
  const [first, last] = [sectionPorts(1), sectionPorts(inputs.sections)];
  return `  server {
    listen ${listen(inputs.address, `${first.http}-${last.http}`)};
${locations('false', ', tonumber(ngx.var.server_port)')}
  }
  server {
${secure(inputs, `${first.https}-${last.https}`, SECTION_SESSIONS)}
    ssl_certificate_by_lua_block { tidegate.certificate(require("ngx.ssl").server_port()) }
${locations('true', ', tonumber(ngx.var.server_port)')}
  }
`;
}

/** A request for the identity of the router. nginx compares the name, so no other request gets here. */
function identityServer({ address, httpPort, identity, proxyProtocol }: ConfigInputs): string {
  if (identity === undefined) return '';
  if (!/^[a-z0-9-]+$/.test(identity)) throw new Error(`${JSON.stringify(identity)} is not a valid UID`);
  // Options of a listening socket may be given only once.
  const socket = listen(address, httpPort).replace(' ipv6only=off', '');
  return `  server {
    listen ${socket}${proxied({ proxyProtocol })};
    server_name ${identityHost(identity)};
    access_log off;
    location / { content_by_lua_block { tidegate.answer(200) } }
  }
`;
}

const GRPC_PASS = 'grpc_pass grpc://tidegate_grpc;';

/**
 * For requests that a policy has changed. Lua sets the variables. If there is no other target, nginx sends the path of the
 * client. Requests without policies use other locations, so these variables cost them nothing.
 */
const PASS_CHANGED = 'proxy_pass $tidegate_protocol://tidegate_$tidegate_protocol$tidegate_target;';
const RESPOND = 'header_filter_by_lua_block { tidegate.respond() }';
const CHANGED_HEADERS = `proxy_set_header X-Forwarded-Prefix $tidegate_prefix; ${RESPOND}`;

/** A request starts in the first location. The Lua code there may continue it in one of the others. */
function locations(secure: 'true' | 'false', port = ''): string {
  const measured = BODY_SIZES.map((size, index) =>
    location(`@measured${index + 1}`, 'tidegate.body.measured()', {
      pass: PASS_CHANGED,
      more: `client_max_body_size ${size}; ${CHANGED_HEADERS}`,
      host: '$tidegate_sent_host',
    }),
  );
  return `    log_by_lua_block { tidegate.ended(${port.replace(', ', '')}) }
    # nginx reads it only if Lua has set the variable $limit_rate.
    limit_rate_after $tidegate_rate_after;
    # For an error of the backend for errors.
    recursive_error_pages on;
    error_page 405 408 413 500 501 502 503 504 @failed;
    error_page 400 414 505 "${UNREADABLE}";
    error_page 494 "${TOO_LARGE}";
${location('/', `tidegate.serve(${secure}${port})`, { pass: 'proxy_pass http://tidegate_http;' })}
${location('@https', undefined, { pass: 'proxy_pass https://tidegate_https;' })}
${location('@grpc', undefined, { pass: GRPC_PASS })}
${location('@changed', undefined, { pass: PASS_CHANGED, more: CHANGED_HEADERS, host: '$tidegate_sent_host' })}
${location('@grpc_changed', undefined, { pass: GRPC_PASS, more: CHANGED_HEADERS.replace('proxy', 'grpc'), host: '$tidegate_sent_host' })}
${measured.join('\n')}
    # For the locations below, which have nothing of their own.
${[...proxy('$tidegate_sent_host'), 'proxy_set_header X-Forwarded-Prefix $tidegate_prefix;'].map((line) => `    ${line}`).join('\n')}
${ownLocations(`${RESPOND} ${PASS_CHANGED}`)}
    # A request for the error of another one. Its response is final.
    location @errors {
      proxy_method $tidegate_method;
      proxy_pass_request_body off;
      ${RESPOND}
      ${PASS_CHANGED}
    }
    location @failed {
      content_by_lua_block { tidegate.failed() }
    }
    location = "${UNREADABLE}" {
      internal;
      # nginx requires that variables are declared in some location. Here it costs other requests nothing; Lua sets them.
      set $tidegate_protocol "";
      set $tidegate_target "";
      set $tidegate_prefix "";
      set $tidegate_ingress "";
      set $tidegate_service "";
      set $tidegate_class "";
      set $tidegate_router "";
      set $tidegate_refusal "";
      set $tidegate_rate_after "";
      set $tidegate_vhost "";
      set $tidegate_unlogged "";
      set $tidegate_relayed "";
      set $tidegate_method "";
      set $tidegate_reported_client "";
      set $tidegate_reported_scheme "";
      set $tidegate_reported_host "";
      set $tidegate_reported_port "";
      set $tidegate_forwarded_for "";
      content_by_lua_block { tidegate.answer((ngx.status == 414 or ngx.status == 505) and ngx.status or 400) }
    }
    location = "${TOO_LARGE}" {
      internal;
      content_by_lua_block { tidegate.answer(431) }
    }
    # Where the head of the request ends is in doubt: nothing that follows may be read as the next request.
    location @refused {
      keepalive_timeout 0;
      content_by_lua_block { tidegate.answer(tonumber(ngx.var.tidegate_refusal)) }
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

/** nginx creates all of these directories, whether it uses them or not. */
const temporaryPaths = (runtime: string): string =>
  ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `  ${name}_temp_path ${quoted(`${runtime}/temporary/${name}`)};`)
    .join('\n');

/** Writes each request as an AccessLogEntry. */
function accessLog({ accessLog: path, className, router, sections }: ConfigInputs): string {
  if (path === undefined) return '  access_log off;';
  // Lua sets the variables at the end of each request.
  const isShared = sections > 0;
  if (!isShared && !/^[a-z0-9.-]+$/.test(className))
    throw new Error(`${JSON.stringify(className)} is not a valid IngressClass name`);
  if (!/^[a-z0-9.-]*$/.test(router))
    throw new Error(`${JSON.stringify(router)} is not a valid name of an L7Router`);
  const values: Record<keyof AccessLogEntry, string> = {
    time: '"$time_iso8601"',
    requestId: '"$tidegate_request_id"',
    client: '"$tidegate_client"',
    class: isShared ? '"$tidegate_class"' : `"${className}"`,
    router: isShared ? '"$tidegate_router"' : `"${router}"`,
    scheme: '"$tidegate_scheme"',
    method: '"$request_method"',
    host: '"$http_host"',
    target: '"$request_uri"',
    protocol: '"$server_protocol"',
    status: '$status',
    bytes: '$body_bytes_sent',
    seconds: '$request_time',
    ingress: '"$tidegate_ingress"',
    service: '"$tidegate_service"',
    endpoints: '"$tidegate_endpoints"',
    userAgent: '"$http_user_agent"',
  };
  const fields = Object.entries(values).map(([name, value]) => `"${name}":${value}`);
  return `  log_format tidegate escape=json '{${fields.join()}}';
  # Lua sets the variable for paths without a log.
  map $tidegate_unlogged $tidegate_logged {
    default 0;
    "" 1;
  }
  # Lua sets the variable if nginx reaches endpoints through sockets of the agent.
  map $tidegate_relayed $tidegate_endpoints {
    default $tidegate_relayed;
    "" $upstream_addr;
  }
  access_log ${quoted(path)} tidegate if=$tidegate_logged;`;
}

const listen = (address: string, port: number | string): string =>
  address.includes(':') ? `[${address}]:${port} ipv6only=off` : `${address}:${port}`;

/** The paths are ours, but nginx would still interpret quotes and variables in them. */
function quoted(path: string, more = ''): string {
  if (/["$\\\n;{}]/.test(path)) {
    throw new Error(
      `nginx cannot use the path ${JSON.stringify(path)}: choose one without quotes, backslashes and $;{}`,
    );
  }
  return `"${path}${more}"`;
}
