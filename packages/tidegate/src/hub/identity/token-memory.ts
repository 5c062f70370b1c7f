import { createHmac, randomBytes } from 'node:crypto';
import { type Clock, sleep } from '@tidegate/kube';
import { FairMap, type Holder, type ShareLimits, tenantOfUser } from '../shares/index.ts';
import type { Memory } from './memory.ts';

export interface TokenMemoryOptions {
  memory: Memory;
  /** Whether an API server is reachable. */
  online: () => boolean;
  clock: Clock;
}

/** What the API server decided about a token the last time that the hub asked. */
export type TokenDecision = 'accepted' | 'rejected';

/** The format on disk. `at` is the time that the hub had been online until then, in milliseconds. */
interface StoredDecision {
  decision: TokenDecision;
  at: number;
  /** The user that the token belongs to. */
  user: string;
  /** When a rejected token expires, in milliseconds since the epoch. */
  expires?: number;
}

const SALT = 'tokens/salt';
const ONLINE = 'tokens/online-ms';
const DECISIONS = 'tokens/decision/';
const FLOORS = 'tokens/floor/';
/** Written by versions before 0.2.0. They accepted tokens that the API server had not authenticated. */
const OLD_KEYS = ['tokens/answer/', 'tokens/hours-online'];
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The time online is stored this often, so that a hub that restarts every few minutes counts it too. */
const STORED_EVERY_MS = 5 * MINUTE_MS;
/**
 * How long a decision is remembered, in time online. Offline time does not count, because no client can present
 * its token to the API server then: a token that was accepted just before a week without a link must stay
 * valid for that week.
 */
const REMEMBERED_MS = 24 * HOUR_MS;
const ACCEPTED: ShareLimits = { perIdentity: 500, total: 5_000 };
const REJECTED: ShareLimits = { perIdentity: 200, total: 5_000 };

/**
 * Remembers what the API server decided about tokens, so that the hub can authenticate clients while no API server is
 * reachable. Only decisions that matter then are kept: the acceptance of a token that the hub cannot verify itself, and the
 * rejection of one that it can. A rejection is remembered until the token expires: if it were forgotten, the token would be
 * valid again at the next outage.
 *
 * Tokens are not stored here, only keyed hashes of them (HMAC-SHA256 with a random salt per node). The file
 * therefore contains no usable credential, and the hashes of two nodes cannot be compared.
 *
 * Users can create any number of tokens, so each user and tenant has a share (see FairMap). If a tenant has more rejected
 * tokens than its share, forgetting one would make it valid again. Instead, all service account tokens of this tenant that
 * expire until then are refused while no API server is reachable: its floor.
 */
export class TokenMemory {
  readonly #options: TokenMemoryOptions;
  readonly #salt: Buffer;
  readonly #accepted: FairMap<StoredDecision>;
  readonly #rejected: FairMap<StoredDecision>;
  /** By tenant. */
  readonly #floors = new Map<string, number>();
  /** How long the hub has been online, over all restarts. */
  #onlineMs: number;

  private constructor(options: TokenMemoryOptions, salt: Buffer, onlineMs: number) {
    this.#options = options;
    this.#salt = salt;
    this.#onlineMs = onlineMs;
    this.#accepted = new FairMap(ACCEPTED, (key) => options.memory.delete(key));
    this.#rejected = new FairMap(REJECTED, (key, { expires = 0 }, { tenant }) => {
      options.memory.delete(key);
      this.#raiseFloor(tenant, expires);
    });
  }

  static async open(options: TokenMemoryOptions): Promise<TokenMemory> {
    const { memory } = options;
    for (const prefix of OLD_KEYS) memory.deletePrefix(prefix);
    let salt = await memory.get(SALT);
    if (salt === undefined) {
      salt = randomBytes(32);
      memory.put(SALT, salt);
    }
    const tokens = new TokenMemory(options, salt, Number((await memory.get(ONLINE))?.toString() ?? 0));
    const read = async <T>(prefix: string): Promise<[string, T][]> => {
      const values = await Promise.all(
        memory.keys(prefix).map(async (key) => [key, await memory.get(key)] as const),
      );
      return values.flatMap(([key, value]): [string, T][] =>
        value === undefined ? [] : [[key, JSON.parse(value.toString()) as T]],
      );
    };
    for (const [key, floor] of await read<number>(FLOORS))
      tokens.#floors.set(key.slice(FLOORS.length), floor);
    const stored = await read<StoredDecision>(DECISIONS);
    for (const [key, decision] of stored.sort(([, a], [, b]) => a.at - b.at))
      tokens.#mapFor(decision.decision).set(key, decision, holderOf(decision));
    return tokens;
  }

  /** Counts the time online until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, online } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, MINUTE_MS, signal).catch(() => {}); // Rejects when aborted.
      if (!signal.aborted && online()) this.#countMinute();
    }
    this.#storeTime();
  }

  /** Undefined if there is nothing to remember about the token, or if the decision is too old. */
  decisionOn(tokenKey: string): TokenDecision | undefined {
    const key = this.#keyOf(tokenKey);
    return (this.#rejected.get(key) ?? this.#accepted.get(key))?.decision;
  }

  /** The user of a token that the API server accepted; empty if it is not known. */
  userOf(tokenKey: string): string {
    return this.#accepted.get(this.#keyOf(tokenKey))?.user ?? '';
  }

  /** Whether a service account token of this user may be one of the rejected tokens that were too many to remember. */
  isBelowFloor(user: string, expires: number): boolean {
    return expires <= (this.#floors.get(tenantOfUser(user)) ?? Number.NEGATIVE_INFINITY);
  }

  /** The API server accepts a token that the hub cannot verify. */
  accept(tokenKey: string, user: string): void {
    this.#store(tokenKey, { decision: 'accepted', at: this.#onlineMs, user });
  }

  /** The API server rejects a token that the hub can verify, and would accept until it expires. */
  reject(tokenKey: string, user: string, expires: number): void {
    this.#store(tokenKey, { decision: 'rejected', at: this.#onlineMs, user, expires });
  }

  /** Deletes the decision. */
  forget(tokenKey: string): void {
    const key = this.#keyOf(tokenKey);
    if (this.#accepted.delete(key) || this.#rejected.delete(key)) this.#options.memory.delete(key);
  }

  #mapFor(decision: TokenDecision): FairMap<StoredDecision> {
    return decision === 'accepted' ? this.#accepted : this.#rejected;
  }

  #store(tokenKey: string, stored: StoredDecision): void {
    const key = this.#keyOf(tokenKey);
    const map = this.#mapFor(stored.decision);
    const known = map.get(key);
    // Called for every review. There is at most one write to disk per token and hour.
    if (known?.user === stored.user && this.#onlineMs - known.at < HOUR_MS) return;
    this.#options.memory.put(key, Buffer.from(JSON.stringify(stored)));
    map.set(key, stored, holderOf(stored));
  }

  #raiseFloor(tenant: string, expires: number): void {
    if (expires <= (this.#floors.get(tenant) ?? 0)) return;
    this.#floors.set(tenant, expires);
    this.#options.memory.put(FLOORS + tenant, Buffer.from(JSON.stringify(expires)));
  }

  #countMinute(): void {
    const before = this.#onlineMs;
    this.#onlineMs += MINUTE_MS;
    if (crosses(before, this.#onlineMs, STORED_EVERY_MS)) this.#storeTime();
    if (!crosses(before, this.#onlineMs, HOUR_MS)) return;
    const now = this.#options.clock.now();
    for (const [key, { at }] of [...this.#accepted.entries()])
      if (this.#onlineMs - at > REMEMBERED_MS) this.#drop(this.#accepted, key);
    for (const [key, { expires = 0 }] of [...this.#rejected.entries()])
      if (now - expires > HOUR_MS) this.#drop(this.#rejected, key);
    for (const [tenant, expires] of this.#floors) {
      if (now - expires <= HOUR_MS) continue;
      this.#floors.delete(tenant);
      this.#options.memory.delete(FLOORS + tenant);
    }
  }

  #storeTime(): void {
    this.#options.memory.put(ONLINE, Buffer.from(String(this.#onlineMs)));
  }

  #drop(map: FairMap<StoredDecision>, key: string): void {
    map.delete(key);
    this.#options.memory.delete(key);
  }

  #keyOf(tokenKey: string): string {
    return DECISIONS + createHmac('sha256', this.#salt).update(tokenKey).digest('hex');
  }
}

/** Tokens of one user share one quota, however many the user creates. */
const holderOf = ({ user = '' }: StoredDecision): Holder => ({ identity: user, tenant: tenantOfUser(user) });

/** Whether a multiple of `step` lies between the two times. */
const crosses = (before: number, after: number, step: number): boolean =>
  Math.floor(before / step) !== Math.floor(after / step);
