import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { DurableMap } from '@tidegate/disk';
import { type Clock, type Logger, Serial } from '@tidegate/kube';
import type { Certificate, Delta, HostRoutes, Pool } from '../ingress/model.ts';

interface SnapshotOptions {
  directory: string;
  /** What is served is for these only: a directory that was another router's is of no use. */
  owner: { classNames: readonly string[]; router?: string; pool?: string };
  clock: Clock;
  log: Logger;
}

type Pending = Map<string, unknown>;

/** A route changes seldom, and who made it counts on it; endpoints change often, and most of a whole is there already. */
const DELAY_MS = { routes: 100, rest: 2_000 };
/** So many at a time are written out: what else is to be done is not held up. */
const PIECE = 200;
const OWNER_KEY = 'owner';

/**
 * What is served, on disk: a router that starts while nobody can tell it anything goes by this. An entry for each host,
 * pool and certificate, so that a change costs no more than itself. Keys are among it: nobody else may enter its directory.
 */
export class Snapshot {
  readonly #map: DurableMap;
  readonly #options: SnapshotOptions;
  readonly #writes = new Serial();
  /** By key; undefined goes. */
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

  /** What was served last, as a whole; undefined when there is nothing. */
  async load(): Promise<Delta | undefined> {
    const { owner } = this.#options;
    const before = await this.#map.get(OWNER_KEY);
    const isOurs = before !== undefined && isDeepStrictEqual(JSON.parse(before.toString()), plain(owner));
    if (!isOurs) {
      this.#map.deletePrefix('');
      this.#map.put(OWNER_KEY, encode(owner));
      return undefined;
    }
    const hosts = await this.#read<HostRoutes>('host/');
    if (hosts.length === 0) return undefined;
    return {
      from: 0,
      to: 1,
      hosts: { set: hosts, remove: [] },
      pools: { set: await this.#read<Pool>('pool/'), remove: [] },
      certificates: { set: await this.#read<Certificate>('certificate/'), remove: [] },
    };
  }

  /** Kept a little later. */
  note(delta: Delta): void {
    const { pools, certificates, hosts } = delta;
    if (delta.from === 0) this.#forgetOthers(delta);
    // A pool is there before who names it, and goes after it.
    for (const pool of pools.set) this.#change(`pool/${pool.id}`, pool);
    for (const certificate of certificates.set) this.#change(`certificate/${certificate.host}`, certificate);
    for (const host of hosts.set) this.#change(`host/${host.host}`, host);
    for (const host of hosts.remove) this.#change(`host/${host}`, undefined);
    for (const host of certificates.remove) this.#change(`certificate/${host}`, undefined);
    for (const id of pools.remove) this.#change(`pool/${id}`, undefined);
    this.#schedule(delta.from > 0 && isAboutRoutes(delta) ? DELAY_MS.routes : DELAY_MS.rest);
  }

  async close(): Promise<void> {
    this.#timer?.cancel();
    await this.#write();
    await this.#map.close();
  }

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
    for await (const [, value] of this.#map.entries(prefix)) values.push(JSON.parse(value.toString()) as T);
    return values;
  }

  #forgetOthers({ hosts, pools, certificates }: Delta): void {
    const there = new Set([
      ...hosts.set.map(({ host }) => `host/${host}`),
      ...pools.set.map(({ id }) => `pool/${id}`),
      ...certificates.set.map(({ host }) => `certificate/${host}`),
    ]);
    for (const key of [...this.#map.keys(), ...this.#pending.keys()])
      if (key !== OWNER_KEY && !there.has(key)) this.#change(key, undefined);
  }

  #change(key: string, value: unknown): void {
    this.#pending.delete(key);
    this.#pending.set(key, value);
  }

  /** Never rejects: the map tells of a disk that refuses, and tries again. */
  #write(): Promise<void> {
    return this.#writes.run(async () => {
      const changes = [...this.#pending];
      this.#pending = new Map();
      for (const [index, [key, value]] of changes.entries()) {
        if (value === undefined) this.#map.delete(key);
        else this.#map.put(key, encode(value));
        // A disk that refuses is told of by the map, which tries again.
        if (index % PIECE === PIECE - 1) await this.#map.flush().catch(() => {});
      }
    });
  }
}

const isAboutRoutes = ({ hosts, certificates }: Delta): boolean =>
  [hosts, certificates].some(({ set, remove }) => set.length + remove.length > 0);

const encode = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
