import { readBody } from './router-body.ts';

/** What a request to a router means, as the endpoint must receive it. */
export interface RouterMeaning {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  /** The headers of the client that are forwarded, in lower case and sorted. */
  readonly headers: readonly string[];
  /** The number of bytes in the body. */
  readonly length: number;
}

/**
 * - `plain`: only one reading is possible. The router serves the request, and reads `next` as the next one.
 * - `tolerated`: not strictly valid, but parsers agree on the meaning. The router refuses it or forwards this meaning.
 * - `refused`: parsers may disagree, so no endpoint may receive it.
 * - `incomplete`: the router waits for more.
 */
export type Reading =
  | { readonly kind: 'plain' | 'tolerated'; readonly meaning: RouterMeaning; readonly next: string }
  | { readonly kind: 'refused' }
  | { readonly kind: 'incomplete' };

const REFUSED: Reading = { kind: 'refused' };

const FIRST_LINE = /^([A-Z-]+)( +)(\/[\x21\x22\x24-\x7e]*)( +)HTTP\/1\.([01])$/;
const HEADER =
  /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*((?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)[ \t]*$/;
const FORWARDED_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

/** Headers that never reach the endpoint, or that the router sets itself. */
const OWN = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade', 'http2-settings'],
  ...[
    'trailer',
    'expect',
    'host',
    'forwarded',
    'proxy',
    'x-forwarded-for',
    'x-forwarded-host',
    'content-length',
  ],
  ...['x-forwarded-port', 'x-forwarded-proto', 'x-real-ip', 'x-request-id'],
  // Headers that only proxies may set, as far as the grammar has them.
  ...['x-forwarded-prefix', 'x-original-url', 'true-client-ip', 'x-scheme'],
]);

/**
 * Reads the first request of a connection: a strict parser for HTTP/1, written independently of the code under test. It
 * follows RFC 9110 and 9112, without the tolerance that they allow.
 */
export function readRequest(bytes: string): Reading {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return REFUSED;
  const [line = '', ...lines] = bytes.slice(0, end).split('\r\n');
  const [, method = '', before = '', target = '', after = '', minor] = FIRST_LINE.exec(line) ?? [];
  const headers = lines.map((each) => HEADER.exec(each));
  if (target === '' || !headers.every((each) => each !== null)) return REFUSED;
  const pairs = headers.map(([, name = '', value = '']) => [name.toLowerCase(), value] as const);
  const all = (wanted: string): string[] =>
    pairs.flatMap(([name, value]) => (name === wanted ? [value] : []));
  const hosts = all('host');
  const named = all('connection')
    .join(',')
    .toLowerCase()
    .split(/[,\s]+/);
  if (!FORWARDED_METHODS.includes(method) || !isPath(target)) return REFUSED;
  if (hosts.length > 1 || (hosts.length === 0 && minor === '1') || !hosts.every(isHost)) return REFUSED;
  if (['host', 'content-length', 'transfer-encoding'].some((name) => named.includes(name))) return REFUSED;
  const body = readBody(bytes.slice(end + 4), {
    lengths: all('content-length'),
    codings: all('transfer-encoding'),
    isOld: minor === '0',
  });
  if (body.kind === 'refused' || body.kind === 'incomplete') return body;
  const forwarded = pairs.filter(
    ([name]) => /^[a-z0-9-]+$/.test(name) && !OWN.has(name) && !named.includes(name),
  );
  const meaning = {
    method,
    target,
    host: hosts[0] ?? '',
    headers: forwarded.map(([name, value]) => `${name}: ${value}`).sort(),
    length: body.length,
  };
  const isUpgrade = named.includes('upgrade') && all('upgrade').length > 0;
  // A router may refuse an upgrade with a body: few servers agree where it ends. It may also refuse headers that a client
  // may send only once.
  const hasDuplicates = new Set(pairs.map(([name]) => name)).size < pairs.length;
  const isUsual = !hasDuplicates && !(isUpgrade && body.length > 0);
  const isStrict = before === ' ' && after === ' ' && isUsual && body.kind === 'plain';
  const closes = [...named, ...all('proxy-connection')].includes('close');
  const next = minor === '1' && !closes && !isUpgrade ? body.rest : '';
  return { kind: isStrict ? 'plain' : 'tolerated', meaning, next };
}

/** A name, an IPv4 address or an IPv6 address, with or without a port. */
const isHost = (text: string): boolean =>
  /^(?:[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{0,5})?$/.test(text);

/** Every decoder must find the same segments, and no way upwards. */
function isPath(target: string): boolean {
  const [path = ''] = target.split('?');
  if (/%(?![0-9a-f]{2})|%00/i.test(path)) return false;
  const decoded = path
    .replaceAll(/%2e/gi, '.')
    .replaceAll(/%2f|%5c|\\/gi, '/')
    .replaceAll(/%3b/gi, ';');
  return !decoded.split('/').some((segment) => /^\.{1,2}(?:;|$)/.test(segment));
}
