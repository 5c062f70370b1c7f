import { createHash } from 'node:crypto';
import type { PolicyReader } from './annotation-reader.ts';
import { cookieOf } from './canary.ts';

/** Requests with the same key go to the same endpoint, as long as it exists. */
export interface HashBy {
  readonly key: KeyTemplate;
  /** Requests with the same key go to a random one of so many endpoints. */
  readonly subset?: number;
}

/** Texts and variables, in their order. */
export type KeyTemplate = readonly (string | HashVariable)[];

/** A variable of nginx. `name`: of a header, a cookie or an argument of the query. */
export type HashVariable =
  | { readonly kind: 'header' | 'cookie' | 'argument'; readonly name: string }
  | { readonly kind: 'host' | 'request_uri' | 'uri' | 'args' | 'scheme' | 'remote_addr' | 'request_method' };

/** Annotations of this file. With an invalid value, any endpoint gets a request. */
export const HASHING_NAMES = ['upstream-hash-by', 'upstream-hash-by-subset', 'upstream-hash-by-subset-size'];

const PLAIN = ['host', 'request_uri', 'uri', 'args', 'scheme', 'remote_addr', 'request_method'] as const;
/** The variables of a key, for messages. */
export const KEY_VARIABLES = [...PLAIN, 'http_NAME', 'cookie_NAME', 'arg_NAME']
  .map((each) => `$${each}`)
  .join(', ');
const NAMED = { http: 'header', cookie: 'cookie', arg: 'argument' } as const;
const DEFAULT_SUBSET = 3;
const MOST_CHARACTERS = 500;

export function readHashBy(reader: PolicyReader): HashBy | undefined {
  const isSubset = reader.flag('upstream-hash-by-subset');
  const subset = readSubset(reader);
  const text = reader.text('upstream-hash-by') ?? '';
  if (text === '') return undefined;
  const key = text.length > MOST_CHARACTERS ? undefined : parseKey(text);
  if (key !== undefined) return { key, ...(isSubset && { subset }) };
  reader.invalid('upstream-hash-by', text, `a text with some of ${KEY_VARIABLES}`);
  return undefined;
}

function readSubset(reader: PolicyReader): number {
  const text = reader.text('upstream-hash-by-subset-size') ?? '';
  if (text === '') return DEFAULT_SUBSET;
  if (/^[1-9][0-9]{0,3}$/.test(text)) return Number(text);
  reader.invalid('upstream-hash-by-subset-size', text, 'a number of endpoints');
  return DEFAULT_SUBSET;
}

const PART = /\$\{([A-Za-z0-9_]+)\}|\$([A-Za-z0-9_]+)|([A-Za-z0-9\-._:/|;,= ]+)/y;

/** Undefined if it is not valid. */
export function parseKey(text: string): KeyTemplate | undefined {
  const parts: (string | HashVariable)[] = [];
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const [, braced, bare, literal] = PART.exec(text) ?? [];
    const part = literal ?? variableOf(braced ?? bare ?? '');
    if (part === undefined) return undefined;
    parts.push(part);
  }
  return parts;
}

function variableOf(name: string): HashVariable | undefined {
  const plain = PLAIN.find((each) => each === name.replace(/^binary_/, ''));
  if (plain !== undefined) return { kind: plain };
  const [, kind = '', rest = ''] = /^(http|cookie|arg)_(\w+)$/.exec(name) ?? [];
  if (rest === '') return undefined;
  // As in nginx, an underscore stands for a hyphen in the name of a header.
  return kind === 'http'
    ? { kind: 'header', name: rest.toLowerCase().replaceAll('_', '-') }
    : { kind: NAMED[kind as 'cookie' | 'arg'], name: rest };
}

/** What a key can depend on. */
export interface HashFacts {
  readonly host: string;
  /** Path and query. */
  readonly target: string;
  readonly secure: boolean;
  readonly client: string;
  readonly method: string;
  /** In lower case. */
  readonly header: (name: string) => string | undefined;
}

/** The hash of the key, from 0 to 2^32 - 1. `hashing.lua` is the same for nginx. */
export const hashOf = ({ key }: HashBy, facts: HashFacts): number => pointOf(fillKey(key, facts));

export const fillKey = (key: KeyTemplate, facts: HashFacts): string =>
  key.map((part) => (typeof part === 'string' ? part : textOf(part, facts))).join('');

const pointOf = (text: string): number => createHash('md5').update(text, 'latin1').digest().readUInt32BE(0);

function textOf(variable: HashVariable, { host, target, secure, client, method, header }: HashFacts): string {
  const at = target.indexOf('?');
  const query = at < 0 ? '' : target.slice(at + 1);
  switch (variable.kind) {
    case 'header':
      return header(variable.name) ?? '';
    case 'cookie':
      return cookieOf(header('cookie'), variable.name) ?? '';
    case 'argument':
      return argumentOf(query, variable.name);
    case 'host':
      return host;
    case 'request_uri':
      return target;
    case 'uri':
      return at < 0 ? target : target.slice(0, at);
    case 'args':
      return query;
    case 'scheme':
      return secure ? 'https' : 'http';
    case 'remote_addr':
      return client;
    case 'request_method':
      return method;
  }
}

/** The first argument with this name, as it was sent. */
function argumentOf(query: string, name: string): string {
  const found = query.split('&').find((part) => part.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? '';
}

const POINTS_PER_ENDPOINT = 64;

/** A ring of points. A key belongs to the endpoint of the next point, so a change of the endpoints moves few keys. */
export type Ring<E> = readonly { readonly point: number; readonly endpoint: E }[];

export const ringOf = <E extends { readonly name: string }>(endpoints: readonly E[]): Ring<E> =>
  endpoints
    .flatMap((endpoint) =>
      Array.from({ length: POINTS_PER_ENDPOINT }, (_, at) => ({
        point: pointOf(`${endpoint.name} ${at}`),
        endpoint,
      })),
    )
    .sort((a, b) => a.point - b.point || (a.endpoint.name < b.endpoint.name ? -1 : 1));

/** All endpoints, the one that the hash belongs to first. */
export function* fromRing<E>(ring: Ring<E>, hash: number): Generator<E> {
  let [low, high] = [0, ring.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ring[middle]!.point < hash) low = middle + 1;
    else high = middle;
  }
  const seen = new Set<E>();
  for (let at = 0; at < ring.length; at++) {
    const { endpoint } = ring[(low + at) % ring.length]!;
    if (seen.has(endpoint)) continue;
    seen.add(endpoint);
    yield endpoint;
  }
}

export const describeHashBy = ({ subset }: HashBy): string =>
  `sends requests with the same key to ${subset === undefined ? 'the same endpoint' : `the same ${subset} endpoints`}`;
