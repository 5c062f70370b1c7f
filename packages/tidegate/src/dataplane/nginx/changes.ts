import { EMPTY_TABLE, type RouteTable } from '../../ingress/match/index.ts';
import type { Certificate, Credentials, Delta, Upstream } from '../../ingress/model.ts';
import { hostOfKey, prefixOfKey } from '../section-keys.ts';
import type { Dictionary } from './config.ts';
import { hostText } from './host-text.ts';
import { relayName } from './relays.ts';

/** A key of a shared dictionary with its new value; undefined deletes the key. */
export interface Change {
  dictionary: Dictionary;
  key: string;
  value: string | undefined;
}

/**
 * The changes that lead from one table to the next. The order guarantees that no route ever names a missing upstream:
 * upstreams are written before the hosts that name them, and deleted after them.
 */
export function changesOf(before: RouteTable, after: RouteTable, delta: Delta): Change[] {
  const whole = delta.from === 0;
  const upstreams = changed(
    before.upstreams,
    after.upstreams,
    whole ? undefined : touched(delta.upstreams, 'id'),
  );
  const hosts = changed(before.hosts, after.hosts, whole ? undefined : touched(delta.hosts, 'host'));
  const certificates = changed(
    before.certificates,
    after.certificates,
    whole ? undefined : touched(delta.certificates, 'host'),
  );
  const credentials = changed(
    before.credentials,
    after.credentials,
    whole ? undefined : touched(delta.credentials ?? { set: [], remove: [] }, 'id'),
  );
  const [set, gone] = partition(toChanges('upstreams', upstreams, upstreamText));
  return [
    ...set,
    ...toChanges('certificates', certificates, certificateText),
    ...toChanges('credentials', credentials, credentialsText),
    ...toChanges('hosts', hosts, hostText),
    ...gone,
  ];
}

/** The full state, for an nginx that starts. */
export const changesOfAll = (table: RouteTable): Change[] =>
  changesOf(EMPTY_TABLE, table, { ...NOTHING, to: table.generation });

const NOTHING: Delta = {
  from: 0,
  to: 0,
  hosts: { set: [], remove: [] },
  upstreams: { set: [], remove: [] },
  certificates: { set: [], remove: [] },
};

/** Undoes changes of which some were written. Deletions come first, because they free memory. */
export function inverseOf(
  changes: readonly Change[],
  { hosts, upstreams, certificates, credentials }: RouteTable,
): Change[] {
  const before = {
    hosts: (key: string) => textOf(hosts.get(key), hostText),
    upstreams: (key: string) => textOf(upstreams.get(key), upstreamText),
    certificates: (key: string) => textOf(certificates.get(key), certificateText),
    credentials: (key: string) => textOf(credentials.get(key), credentialsText),
  };
  const back = changes.map(({ dictionary, key }) => ({
    dictionary,
    key,
    value: before[dictionary](tableKey(key)),
  }));
  const [set, gone] = partition(back);
  return [...gone, ...set];
}

/** What RouteTable has for each kind of value. */
interface Values<V> {
  get(key: string): V | undefined;
  entries(): Iterable<[string, V]>;
}

/** Keys that the delta sets or removes. */
function touched<K extends string>(
  { set, remove }: { set: readonly Record<K, string>[]; remove: readonly string[] },
  key: K,
): Iterable<string> {
  return new Set([...set.map((value) => value[key]), ...remove]);
}

/** The keys among these, or among all, whose value differs. */
function changed<V>(before: Values<V>, after: Values<V>, keys?: Iterable<string>): [string, V | undefined][] {
  const result: [string, V | undefined][] = [];
  for (const key of keys ?? keysOf(before, after)) {
    const value = after.get(key);
    if (!isSame(before.get(key), value)) result.push([key, value]);
  }
  return result;
}

const keysOf = <V>(...maps: Values<V>[]): Set<string> =>
  new Set(maps.flatMap((map) => Array.from(map.entries(), ([key]) => key)));

/** Values are plain JSON. Equal values are common in a full state after a restart, and are not written again. */
const isSame = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

const toChanges = <V>(
  dictionary: Dictionary,
  values: [string, V | undefined][],
  encode: (value: V) => string,
): Change[] =>
  values.map(([key, value]) => ({
    dictionary,
    key: dictionary === 'upstreams' ? key : dictionaryKey(key),
    value: textOf(value, encode),
  }));

/** The key for all hosts: a shared dictionary cannot have an empty key. */
const ANY = '*';

const dictionaryKey = (key: string): string => (hostOfKey(key) === '' ? `${key}${ANY}` : key);
const tableKey = (key: string): string => (hostOfKey(key) === ANY ? prefixOfKey(key) : key);

const textOf = <V>(value: V | undefined, encode: (value: V) => string): string | undefined =>
  value === undefined ? undefined : encode(value);

const certificateText = ({ certificate, key }: Certificate): string => JSON.stringify({ certificate, key });

/** nginx needs no certificate for endpoints: only the agent uses its key. */
const credentialsText = ({ users, authorities, client, headers }: Credentials): string =>
  JSON.stringify({ users, authorities, headers, ...(client && { client: true }) });

/** nginx connects to relays without TLS. */
function upstreamText(upstream: Upstream): string {
  const { tls, protocol, endpoints, ...rest } = upstream;
  if (tls === undefined) return JSON.stringify(upstream);
  return JSON.stringify({
    ...rest,
    protocol: protocol === 'https' ? 'http' : protocol,
    endpoints: endpoints.map((each) => ({ ...each, relay: relayName(upstream, each) })),
    ...(tls.credentials !== undefined && { credentials: tls.credentials }),
  });
}

const partition = (changes: Change[]): [Change[], Change[]] => [
  changes.filter(({ value }) => value !== undefined),
  changes.filter(({ value }) => value === undefined),
];

/** The format that `lua/tidegate/changes.lua` reads. JSON has no raw tabs and line breaks; keys escape them. */
export function lineOf({ dictionary, key, value }: Change): string {
  const written = key.replace(/[\t\r\n\\]/g, (character) => ESCAPES[character]!);
  return value === undefined ? `-\t${dictionary}\t${written}\n` : `=\t${dictionary}\t${written}\t${value}\n`;
}

const ESCAPES: Record<string, string> = { '\t': '\\t', '\r': '\\r', '\n': '\\n', '\\': '\\\\' };
