import { PROXY_HEADER_PREFIXES, PROXY_HEADERS } from '../../ingress/client-headers.ts';
import { CLIENTS_ENTRY, MOST_PROXIES } from '../../ingress/clients/index.ts';
import {
  CPU_SHARE,
  MOST_CPU_MS,
  MOST_CREDENTIALS_BYTES,
  MOST_REMEMBERED,
  MOST_TENANT_CPU_MS,
  SAVED_PART,
  TENANT_CPU_SHARE,
} from '../../ingress/passwords/index.ts';
import { MOST_KEPT_SECONDS, MOST_SUBJECT_CHARACTERS, RETRIED_STATUSES } from '../../ingress/policy/index.ts';
import { ANSWER_HEADERS, ANSWER_TEXTS, COOKIE_STATUSES } from '../answers.ts';
import { TOLERATED_CODES } from '../client-verification.ts';
import {
  ENDPOINT_BACKOFF_MS,
  EWMA_DECAY_MS,
  FIRST_CONNECT_MS,
  MAX_CONNECTION_BYTES,
  MAX_HEAD_BYTES,
  MAX_HEADERS,
  MAX_KEPT_BODY_BYTES,
  MAX_LINE_BYTES,
  MAX_MIRRORED_BODY_BYTES,
  MAX_RESPONSE_HEAD_BYTES,
  MAX_TRIES,
  METHODS,
} from '../limits.ts';
import { LOOP_HEADER, MOST_LOOPS } from '../loops.ts';
import { DURATION_BUCKETS_MS, MAX_SERIES, OTHER } from '../traffic-metrics.ts';

type LuaValue =
  | number
  | boolean
  | string
  | undefined
  | readonly LuaValue[]
  | { readonly [key: string]: LuaValue };

/** What depends on the options of the router. */
export interface LuaOptions {
  connectTimeoutMs: number;
  readTimeoutMs: number;
  maxBodyBytes: number;
  /** Sizes of the locations that measure request bodies, in increasing order. */
  bodySizes: readonly number[];
  accessLog: boolean;
  /** The mark of requests that the router sends itself, see `loops.ts`. */
  mark: string;
  /** Every connection begins with a header of the PROXY protocol. */
  proxyProtocol: boolean;
  /** The file with the initial table. */
  initialTable: string | undefined;
  relayDirectory: string;
}

/**
 * Lua statements that fill the module `tidegate.settings`. Lua repeats no number and no text that the embedded data plane
 * uses too: both take them from the tables in the parent folder.
 */
export function luaSettings(options: LuaOptions): string {
  const settings: Record<string, LuaValue> = {
    connect_timeout_ms: options.connectTimeoutMs,
    read_timeout_ms: options.readTimeoutMs,
    max_body_bytes: options.maxBodyBytes,
    body_sizes: options.bodySizes,
    access_log: options.accessLog,
    loop_header: LOOP_HEADER,
    loop_mark: options.mark,
    max_loops: MOST_LOOPS,
    proxy_protocol: options.proxyProtocol,
    clients_entry: CLIENTS_ENTRY,
    max_proxies: MOST_PROXIES,
    initial_table: options.initialTable,
    relay_directory: options.relayDirectory,
    answer_texts: ANSWER_TEXTS,
    answer_headers: ANSWER_HEADERS,
    cookie_statuses: Object.fromEntries([...COOKIE_STATUSES].map((status) => [status, true])),
    max_answer_head_bytes: MAX_RESPONSE_HEAD_BYTES.usual,
    max_kept_auth_seconds: MOST_KEPT_SECONDS,
    max_line_bytes: MAX_LINE_BYTES,
    max_head_bytes: MAX_HEAD_BYTES,
    max_headers: MAX_HEADERS,
    max_connection_bytes: MAX_CONNECTION_BYTES,
    methods: Object.fromEntries([...METHODS].map((method) => [method, true])),
    proxy_headers: Object.fromEntries([...PROXY_HEADERS].map((name) => [name, true])),
    proxy_header_prefixes: PROXY_HEADER_PREFIXES,
    max_credentials_bytes: MOST_CREDENTIALS_BYTES,
    tolerated_certificate_errors: TOLERATED_CODES,
    max_subject_characters: MOST_SUBJECT_CHARACTERS,
    max_remembered_passwords: MOST_REMEMBERED,
    password_cpu_share: CPU_SHARE,
    max_password_cpu_seconds: MOST_CPU_MS / 1000,
    tenant_password_cpu_share: TENANT_CPU_SHARE,
    max_tenant_password_cpu_seconds: MOST_TENANT_CPU_MS / 1000,
    saved_password_cpu_part: SAVED_PART,
    max_tries: MAX_TRIES,
    max_mirrored_body_bytes: MAX_MIRRORED_BODY_BYTES,
    max_kept_body_bytes: MAX_KEPT_BODY_BYTES,
    retried_statuses: RETRIED_STATUSES,
    first_connect_seconds: FIRST_CONNECT_MS / 1000,
    first_backoff_seconds: ENDPOINT_BACKOFF_MS.first / 1000,
    ewma_decay_seconds: EWMA_DECAY_MS / 1000,
    max_backoff_seconds: ENDPOINT_BACKOFF_MS.max / 1000,
    duration_buckets_ms: DURATION_BUCKETS_MS,
    max_series: MAX_SERIES,
    other_series: OTHER,
  };
  const lines = Object.entries(settings).map(([name, value]) => `    settings.${name} = ${literal(value)}`);
  return ['    local settings = require "tidegate.settings"', ...lines].join('\n');
}

function literal(value: LuaValue): string {
  if (value === undefined) return 'nil';
  if (typeof value === 'string') return text(value);
  if (typeof value !== 'object') return String(value);
  if (isList(value)) return `{ ${value.map(literal).join(', ')} }`;
  const entries = Object.entries(value).map(([key, each]) => `[${keyOf(key)}] = ${literal(each)}`);
  return `{ ${entries.join(', ')} }`;
}

const isList = (value: object): value is readonly LuaValue[] => Array.isArray(value);

/** Status codes are numbers in Lua; JavaScript makes strings of all keys. */
const keyOf = (key: string): string => (/^\d+$/.test(key) ? key : text(key));

/** Plain characters need no escape in Lua. Others are rejected: no setting contains any. */
function text(value: string): string {
  if (!/^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(value))
    throw new Error(`${JSON.stringify(value)} cannot be a Lua string`);
  return `"${value}"`;
}
