import type { RouteTable } from '../../ingress/match/index.ts';
import type { Certificate, Credentials, Delta, HostRoutes, Upstream } from '../../ingress/model.ts';
import { hostOfKey } from '../section-keys.ts';
import type { Dictionary } from './config.ts';
import { shareOf } from './fair-share.ts';
import { hostText } from './host-text.ts';
import { isShared, portionKey, portionsOf, splitPortion, withoutNamespaces } from './shared-rules.ts';

/** What nginx needs beside a key and its value. */
const ENTRY_BYTES = 100;
const PAGE_BYTES = 4096;
/** The control socket reads a whole change into memory. */
const MOST_ENTRY_BYTES = 8 * 1024 * 1024;

interface Entry {
  readonly namespace: string;
  readonly bytes: number;
}

/** Entries that are not written, by dictionary; for rules without a host, the portions of namespaces. */
export type Withheld = ReadonlyMap<Dictionary, ReadonlySet<string>>;

const DICTIONARIES: readonly Dictionary[] = ['hosts', 'upstreams', 'certificates', 'credentials'];

/**
 * Keeps the table within the memory of nginx. All tenants share a dictionary, and its content is theirs. When it is nearly full,
 * the namespaces that use the most of it lose entries, the largest first, and no others do. What is withheld is closed, never open:
 * hosts, upstreams and users lead to the response 503, and the certificate of the router replaces others.
 */
export class Fit {
  readonly #memory: Readonly<Record<Dictionary, number>>;
  readonly #entries = new Map<Dictionary, Map<string, Entry>>();
  readonly #totals = new Map<Dictionary, number>();
  /** Keys of entries that may be too large by themselves. */
  readonly #large = new Map<Dictionary, Set<string>>();
  /** By key of an entry with rules without a host: the keys of its portions. */
  readonly #portions = new Map<string, readonly string[]>();

  constructor(memory: Readonly<Record<Dictionary, number>>) {
    this.#memory = memory;
  }

  /** Notes what a delta has changed. The cost depends on the size of the delta. */
  note(table: RouteTable, delta: Delta): void {
    if (delta.from === 0) {
      this.reset(table);
      return;
    }
    for (const dictionary of DICTIONARIES) {
      const { set, remove } = delta[dictionary] ?? { set: [], remove: [] };
      for (const key of remove) this.#replace(dictionary, key, undefined);
      for (const value of set) this.#replace(dictionary, keyOf(value), value);
    }
  }

  reset(table: RouteTable): void {
    this.#entries.clear();
    this.#totals.clear();
    this.#large.clear();
    this.#portions.clear();
    for (const dictionary of DICTIONARIES)
      for (const [key, value] of table[dictionary].entries()) this.#replace(dictionary, key, value);
  }

  /** What does not fit, if only this part of the memory can be used. Empty, at the cost of nothing, if everything does. */
  withheld(part: number): Withheld {
    const withheld = new Map<Dictionary, ReadonlySet<string>>();
    for (const dictionary of DICTIONARIES) {
      const limit = this.#memory[dictionary] * part;
      const most = Math.min(MOST_ENTRY_BYTES, limit);
      const entries = this.#entries.get(dictionary) ?? new Map<string, Entry>();
      const isOver = (this.#totals.get(dictionary) ?? 0) > limit;
      const keys = isOver
        ? shareOf(entries, limit, most)
        : new Set([...(this.#large.get(dictionary) ?? [])].filter((key) => entries.get(key)!.bytes > most));
      if (dictionary === 'hosts') for (const key of this.#tooLargeTogether(keys, most)) keys.add(key);
      if (keys.size > 0) withheld.set(dictionary, keys);
    }
    return withheld;
  }

  /** Portions that do not fit into one entry with the others. */
  #tooLargeTogether(withheld: ReadonlySet<string>, most: number): string[] {
    const entries = this.#entries.get('hosts') ?? new Map<string, Entry>();
    return [...this.#portions.values()].flatMap((all) => {
      const left = all.filter((key) => !withheld.has(key));
      return [...shareOf(new Map(left.map((key) => [key, entries.get(key)!])), most, most)];
    });
  }

  #replace(dictionary: Dictionary, key: string, value: Value | undefined): void {
    for (const portion of this.#portions.get(key) ?? [])
      if (dictionary === 'hosts') this.#put(dictionary, portion, undefined);
    if (dictionary === 'hosts') this.#portions.delete(key);
    if (value === undefined || !('routes' in value) || !isShared(value)) {
      this.#put(dictionary, key, value);
      return;
    }
    const portions = [...portionsOf(value)];
    this.#portions.set(
      key,
      portions.map(([namespace]) => portionKey(key, namespace)),
    );
    for (const [namespace, portion] of portions)
      this.#put(dictionary, portionKey(key, namespace), { ...portion, namespace });
  }

  #put(dictionary: Dictionary, key: string, value: Value | undefined): void {
    const entries = this.#entries.get(dictionary) ?? new Map<string, Entry>();
    const entry = value && { namespace: namespaceOf(value), bytes: bytesOf(key, value) };
    const change = (entry?.bytes ?? 0) - (entries.get(key)?.bytes ?? 0);
    this.#totals.set(dictionary, (this.#totals.get(dictionary) ?? 0) + change);
    if (entry === undefined) entries.delete(key);
    else entries.set(key, entry);
    this.#entries.set(dictionary, entries);
    const large = this.#large.get(dictionary) ?? new Set();
    if ((entry?.bytes ?? 0) > Math.min(MOST_ENTRY_BYTES, this.#memory[dictionary] / 8)) large.add(key);
    else large.delete(key);
    this.#large.set(dictionary, large);
  }
}

type Value = HostRoutes | Upstream | Certificate | Credentials;

const keyOf = (value: Value): string => ('host' in value ? value.host : value.id);

function namespaceOf(value: Value): string {
  if ('namespace' in value) return value.namespace;
  const secret = 'secret' in value ? value.secret : hostOfKey(value.id);
  return secret.slice(0, secret.indexOf('/'));
}

/** The size in nginx: a power of two, or whole pages. */
function bytesOf(key: string, value: Value): number {
  const text = 'routes' in value ? hostText(value) : JSON.stringify(value);
  const bytes = Buffer.byteLength(text) + Buffer.byteLength(key) + ENTRY_BYTES;
  return bytes <= PAGE_BYTES / 2
    ? 2 ** Math.ceil(Math.log2(bytes))
    : Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
}

/** The table without what is withheld. */
export function without(table: RouteTable, withheld: Withheld): RouteTable {
  if (withheld.size === 0) return table;
  const keys = (dictionary: Dictionary): string[] => [...(withheld.get(dictionary) ?? [])];
  const whole = keys('hosts').filter((key) => splitPortion(key) === undefined);
  const portions = new Map<string, Set<string>>();
  for (const key of keys('hosts')) {
    const portion = splitPortion(key);
    if (portion === undefined) continue;
    portions.set(portion.host, (portions.get(portion.host) ?? new Set()).add(portion.namespace));
  }
  return {
    ...table,
    hosts: table.hosts.with(
      [
        ...whole.map((key) => [key, closedHost(table.hosts.get(key)!)] as const),
        ...[...portions].map(
          ([key, namespaces]) => [key, withoutNamespaces(table.hosts.get(key)!, namespaces)] as const,
        ),
      ],
      [],
    ),
    upstreams: table.upstreams.with(
      keys('upstreams').map((key) => [
        key,
        { ...table.upstreams.get(key)!, endpoints: [], problem: 'closed' },
      ]),
      [],
    ),
    certificates: table.certificates.with(
      keys('certificates').map((key) => [
        key,
        { ...table.certificates.get(key)!, certificate: '', key: '', fingerprint: '' },
      ]),
      [],
    ),
    credentials: table.credentials.with([], keys('credentials')),
  };
}

/** The host stays, so that neither a wildcard above it nor a rule without a host answers for it. */
function closedHost({ host, namespace, routes, fallback }: HostRoutes): HostRoutes {
  const source = (routes[0]?.action ?? fallback)?.source;
  const none = { kind: 'Ingress' as const, namespace, name: '', rule: -1, path: -1 };
  return { host, namespace, routes: [], fallback: { backends: [], limits: {}, source: source ?? none } };
}
