import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DurableMap } from '@tidegate/disk';
import { type Clock, type Logger, Serial } from '@tidegate/kube';
import { CLIENTS_ENTRY } from '../ingress/clients/index.ts';
import type { Certificate, Credentials, Delta, HostRoutes, Upstream } from '../ingress/model.ts';

interface SnapshotOptions {
  directory: string;
  /** The router that the table belongs to. A table that was stored for another owner is discarded. */
  owner: { classNames: readonly string[]; router?: string; pool?: string };
  clock: Clock;
  log: Logger;
}

type Pending = Map<string, unknown>;

/**
 * How long changes wait before they are written. A change of routes is rare and a user expects it to survive a restart,
 * so it is written soon. Endpoints change often, and a full state repeats mostly what is on disk already.
 */
const DELAY_MS = { routes: 100, rest: 2_000 };
/** Entries per write, so that a large change does not block the event loop. */
const BATCH = 200;

/** The entry that identifies the table: the format of all other entries, and the owner. */
const MARKER_KEY = 'owner';
/**
 * Increase this number when the shape or the keys of stored entries change. `load` discards a table of another format
 * and starts empty; the router then serves 503 until it has synced with the API server. Format 1 had no number and kept
 * upstreams below `pool/`.
 */
const FORMAT = 5;
/** Format 2 had no policies, format 3 only some, and format 4 nothing about clients. A router that does not know them must not serve a table of a later format. */
const READABLE = [2, 3, 4, FORMAT];

/**
 * The route table on disk. A router that starts while the API server is unreachable serves this table. Each host, upstream,
 * certificate and Secret with users is an entry of its own, so the cost of a write depends on the change and not on the size of the table.
 * The table contains private keys and hashes of passwords: its directory is accessible to this user only.
 */
export class Snapshot {
  readonly #map: DurableMap;
  readonly #options: SnapshotOptions;
  readonly #writes = new Serial();
  /** Entries to write, by key; undefined deletes the entry. */
  #pending: Pending = new Map();
  #timer: { ms: number; cancel: () => void } | undefined;

  private constructor(map: DurableMap, options: SnapshotOptions) {
    this.#map = map;
    this.#options = options;
  }

  static async open(options: SnapshotOptions): Promise<Snapshot> {
    const map = await DurableMap.open(join(options.directory, 'served', 'table'), { log: options.log });
    return new Snapshot(map, options);
  }

  /** Why the table is not on disk as it is served; empty if it is. Requests are served all the same. */
  warnings(): string[] {
    const { trouble } = this.#map;
    return trouble === undefined
      ? []
      : [
          `${trouble.message} (requests are served; a restart without the API server would serve older routes)`,
        ];
  }

  /** The table that was served last, as a full state. Undefined if there is none for this owner and format. */
  async load(): Promise<Delta | undefined> {
    const { owner } = this.#options;
    const stored = await this.#map.get(MARKER_KEY);
    const isReadable =
      stored !== undefined &&
      READABLE.some((format) => isDeepStrictEqual(decode(stored), decode(encode({ format, owner }))));
    if (!isReadable) this.#map.deletePrefix('');
    this.#map.put(MARKER_KEY, encode({ format: FORMAT, owner }));
    if (!isReadable) return undefined;
    const hosts = await this.#read<HostRoutes>('host/');
    if (hosts.every(({ host }) => host === CLIENTS_ENTRY)) return undefined;
    return {
      from: 0,
      to: 1,
      hosts: { set: hosts, remove: [] },
      upstreams: { set: await this.#read<Upstream>('upstream/'), remove: [] },
      certificates: { set: await this.#read<Certificate>('certificate/'), remove: [] },
      credentials: { set: await this.#read<Credentials>('credentials/'), remove: [] },
    };
  }

  /**
   * Schedules the change to be written. Call it only with deltas that the data plane serves: the last good table is
   * kept.
   */
  note(delta: Delta): void {
    const { upstreams, certificates, credentials = NO_CHANGE, hosts } = delta;
    if (delta.from === 0) this.#forgetOthers(delta);
    // Entries are written in this order, so that a crash in between leaves no host that names a missing upstream.
    for (const upstream of upstreams.set) this.#change(`upstream/${upstream.id}`, upstream);
    for (const certificate of certificates.set) this.#change(`certificate/${certificate.host}`, certificate);
    for (const each of credentials.set) this.#change(`credentials/${each.id}`, each);
    for (const host of hosts.set) this.#change(`host/${host.host}`, host);
    for (const host of hosts.remove) this.#change(`host/${host}`, undefined);
    for (const host of certificates.remove) this.#change(`certificate/${host}`, undefined);
    for (const id of credentials.remove) this.#change(`credentials/${id}`, undefined);
    for (const id of upstreams.remove) this.#change(`upstream/${id}`, undefined);
    this.#schedule(delta.from > 0 && isAboutRoutes(delta) ? DELAY_MS.routes : DELAY_MS.rest);
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    await this.#write();
    await this.#map.close();
  }

  /** Writes after `ms`, or earlier if an earlier write is scheduled already. */
  #schedule(ms: number): void {
    if (this.#timer !== undefined && this.#timer.ms <= ms) return;
    this.#timer?.cancel();
    const cancel = this.#options.clock.after(ms, () => {
      this.#timer = undefined;
      void this.#write();
    });
    this.#timer = { ms, cancel };
  }

  async #read<T>(prefix: string): Promise<T[]> {
    const values: T[] = [];
    for await (const [, value] of this.#map.entries(prefix)) values.push(decode(value) as T);
    return values;
  }

  /** After a full state, deletes all entries that are not part of it. */
  #forgetOthers({ hosts, upstreams, certificates, credentials = NO_CHANGE }: Delta): void {
    const there = new Set([
      ...hosts.set.map(({ host }) => `host/${host}`),
      ...upstreams.set.map(({ id }) => `upstream/${id}`),
      ...certificates.set.map(({ host }) => `certificate/${host}`),
      ...credentials.set.map(({ id }) => `credentials/${id}`),
    ]);
    for (const key of [...this.#map.keys(), ...this.#pending.keys()])
      if (key !== MARKER_KEY && !there.has(key)) this.#change(key, undefined);
  }

  #change(key: string, value: unknown): void {
    // A key that changes again moves to the end, so that the order of writes stays the order of the last changes.
    this.#pending.delete(key);
    this.#pending.set(key, value);
  }

  /** Never rejects: the map logs a failed write and retries it. */
  #write(): Promise<void> {
    return this.#writes.run(async () => {
      const changes = [...this.#pending];
      this.#pending = new Map();
      for (const [index, [key, value]] of changes.entries()) {
        if (value === undefined) this.#map.delete(key);
        else this.#map.put(key, encode(value));
        // The map logs a failed write and retries it.
        if (index % BATCH === BATCH - 1) await this.#map.flush().catch(() => {});
      }
    });
  }
}

const NO_CHANGE = { set: [], remove: [] };

const isAboutRoutes = ({ hosts, certificates, credentials = NO_CHANGE }: Delta): boolean =>
  [hosts, certificates, credentials].some(({ set, remove }) => set.length + remove.length > 0);

const encode = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const decode = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString());
