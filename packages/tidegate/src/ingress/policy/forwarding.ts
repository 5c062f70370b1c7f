import type { PolicyReader } from './annotation-reader.ts';

/** When a request is sent to another endpoint. */
export interface Retry {
  /** An endpoint does not accept the connection, closes it, or sends something that is not HTTP. */
  readonly error: boolean;
  /** An endpoint takes too long. */
  readonly timeout: boolean;
  /** An endpoint answers with one of these. */
  readonly statuses: readonly RetriedStatus[];
  /** Requests with methods that are not idempotent, for example POST, are sent again too. */
  readonly anyMethod: boolean;
  /** How many endpoints get the request. */
  readonly tries: number;
  /** No further endpoint gets the request after this time. 0: no limit. */
  readonly withinMs: number;
}

export const RETRIED_STATUSES = [500, 502, 503, 504, 403, 404, 429] as const;
export type RetriedStatus = (typeof RETRIED_STATUSES)[number];

/** What annotations set for the way of a request to an endpoint and back, besides the annotations of Tidegate. */
export interface Forwarding {
  /** Longest pause of an endpoint while it reads the request. */
  readonly sendTimeoutMs?: number;
  readonly retry?: Retry;
  /** Endpoints may send larger heads of responses. */
  readonly largeHead?: true;
}

/** Annotations of this file. Invalid values are ignored: the defaults of the router are safe. */
export const FORWARDING_NAMES = [
  ...[
    'proxy-send-timeout',
    'proxy-next-upstream',
    'proxy-next-upstream-timeout',
    'proxy-next-upstream-tries',
  ],
  ...['client-body-buffer-size', 'proxy-buffering', 'proxy-buffer-size', 'proxy-buffers-number'],
  ...['proxy-busy-buffers-size', 'proxy-max-temp-file-size', 'proxy-request-buffering', 'proxy-http-version'],
  ...['connection-proxy-header', 'enable-rewrite-log', 'http2-push-preload'],
] as const;

const DEFAULT_TRIES = 3;
/** A request that fails at so many endpoints is the likely cause itself. */
const MOST_TRIES = 10;
const LONGEST_MS = 24 * 3_600_000;
/** The head of a response that the router accepts without an annotation. */
const USUAL_HEAD_BYTES = 16 * 1024;

export function readForwarding(reader: PolicyReader): Forwarding {
  const sendTimeoutMs = readDuration(reader, 'proxy-send-timeout');
  const retry = readRetry(reader);
  for (const name of ['client-body-buffer-size', 'proxy-busy-buffers-size', 'proxy-max-temp-file-size'])
    readSize(reader, name);
  readNumber(reader, 'proxy-buffers-number', 'a number');
  for (const name of ['proxy-buffering', 'proxy-request-buffering']) reader.choice(name, ['on', 'off']);
  // HTTP/1.0 has neither chunks nor reliable connections. Everything that speaks it speaks HTTP/1.1.
  reader.choice('proxy-http-version', ['1.1']);
  // Connections to endpoints are kept.
  reader.choice('connection-proxy-header', ['keep-alive']);
  for (const name of ['enable-rewrite-log', 'http2-push-preload']) reader.flag(name);
  const head = readSize(reader, 'proxy-buffer-size');
  return {
    ...(sendTimeoutMs > 0 && { sendTimeoutMs }),
    ...(retry && { retry }),
    ...(head > USUAL_HEAD_BYTES && { largeHead: true }),
  };
}

const WORDS = ['error', 'timeout', 'invalid_header', 'non_idempotent', 'off'];
const STATUS_WORDS = RETRIED_STATUSES.map((status) => `http_${status}`);

function readRetry(reader: PolicyReader): Retry | undefined {
  const name = 'proxy-next-upstream';
  const tries = readNumber(reader, 'proxy-next-upstream-tries', 'a number of endpoints, or 0 for no limit');
  const withinMs = readDuration(reader, 'proxy-next-upstream-timeout');
  const text = reader.text(name) ?? '';
  const words = text === '' ? ['error', 'timeout'] : text.split(/\s+/);
  if (words.some((word) => !WORDS.includes(word) && !STATUS_WORDS.includes(word))) {
    reader.invalid(name, text, `a list of ${[...WORDS, ...STATUS_WORDS].join(', ')}`);
    return undefined;
  }
  if (text === '' && tries === undefined && withinMs === 0) return undefined;
  const isOff = words.includes('off');
  return {
    error: words.includes('error') || words.includes('invalid_header'),
    timeout: words.includes('timeout'),
    statuses: RETRIED_STATUSES.filter((status) => words.includes(`http_${status}`)),
    anyMethod: words.includes('non_idempotent'),
    tries: isOff ? 1 : Math.min(MOST_TRIES, (tries ?? DEFAULT_TRIES) || MOST_TRIES),
    withinMs,
  };
}

/** Undefined if the annotation is absent or invalid. */
function readNumber(reader: PolicyReader, name: string, expected: string): number | undefined {
  const text = reader.text(name) ?? '';
  if (text === '') return undefined;
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  reader.invalid(name, text, expected);
  return undefined;
}

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, '': 1000, m: 60_000, h: 3_600_000 };

/** 0 if the annotation is absent or invalid. A number without a unit means seconds, as in ingress-nginx. */
function readDuration(reader: PolicyReader, name: string): number {
  const text = reader.text(name) ?? '';
  const [, digits, unit = ''] = /^([0-9]{1,8})(ms|s|m|h)?$/.exec(text) ?? [];
  const ms = text === '' ? 0 : Number(digits) * UNIT_MS[unit]!;
  if (ms >= 0 && ms <= LONGEST_MS) return ms;
  reader.invalid(name, text, 'a number of seconds, at most 24 hours');
  return 0;
}

const UNIT_BYTES: Readonly<Record<string, number>> = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 };

function readSize(reader: PolicyReader, name: string): number {
  const text = reader.text(name) ?? '';
  const [, digits, unit = ''] = /^([0-9]{1,12})([kmg]?)$/i.exec(text) ?? [];
  const bytes = text === '' ? 0 : Number(digits) * UNIT_BYTES[unit.toLowerCase()]!;
  if (Number.isSafeInteger(bytes)) return bytes;
  reader.invalid(name, text, 'a size in bytes, for example 4096, 16k or 1m');
  return 0;
}

/** Whether a request may be sent to another endpoint after this failure. */
export const retries = (retry: Retry | undefined, failure: 'error' | 'timeout' | number): boolean => {
  if (retry === undefined) return typeof failure === 'string';
  return typeof failure === 'string'
    ? retry[failure]
    : (retry.statuses as readonly number[]).includes(failure);
};

export function describeForwarding({ sendTimeoutMs, retry }: Forwarding): string[] {
  const lines =
    sendTimeoutMs === undefined ? [] : [`gives endpoints ${sendTimeoutMs} ms to read more of a request`];
  if (retry === undefined) return lines;
  if (retry.tries === 1) return [...lines, 'sends a request to one endpoint only'];
  const causes = [retry.error && 'an error', retry.timeout && 'a timeout', ...retry.statuses].filter(Boolean);
  const within = retry.withinMs === 0 ? '' : `, within ${retry.withinMs} ms`;
  const which = retry.anyMethod ? 'a request' : 'a request with an idempotent method';
  return [
    ...lines,
    `sends ${which} to at most ${retry.tries} endpoints${within}, after ${causes.join(', ') || 'nothing'}`,
  ];
}
