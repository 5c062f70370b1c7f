import { createHmac, randomBytes } from 'node:crypto';
import { type Clock, sleep } from '@tidegate/kube';
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
  /** When a rejected token expires, in milliseconds since the epoch. */
  expires?: number;
}

const SALT = 'tokens/salt';
const ONLINE = 'tokens/online-ms';
const DECISIONS = 'tokens/decision/';
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
const MAX_DECISIONS = 2_000;

/**
 * Remembers which tokens the API server accepted and which it rejected, so that the hub can authenticate
 * clients while no API server is reachable. The rejection of a token that the hub could verify itself is remembered
 * until the token expires: if it were forgotten, the token would be valid again at the next outage.
 *
 * Tokens are not stored here, only keyed hashes of them (HMAC-SHA256 with a random salt per node). The file
 * therefore contains no usable credential, and the hashes of two nodes cannot be compared.
 */
export class TokenMemory {
  readonly #options: TokenMemoryOptions;
  readonly #salt: Buffer;
  /** The decision that was made longest ago comes first. */
  readonly #decisions = new Map<string, StoredDecision>();
  /** How long the hub has been online, over all restarts. */
  #onlineMs: number;

  private constructor(options: TokenMemoryOptions, salt: Buffer, onlineMs: number) {
    this.#options = options;
    this.#salt = salt;
    this.#onlineMs = onlineMs;
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
    const stored = await Promise.all(
      [...memory.keys(DECISIONS)].map(async (key) => [key, await memory.get(key)] as const),
    );
    const decisions = stored.flatMap(([key, value]): [string, StoredDecision][] =>
      value === undefined ? [] : [[key, JSON.parse(value.toString()) as StoredDecision]],
    );
    for (const [key, decision] of decisions.sort(([, a], [, b]) => a.at - b.at))
      tokens.#decisions.set(key, decision);
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

  /** Undefined if the hub has not asked about the token, or if the decision is too old. */
  decisionOn(tokenKey: string): TokenDecision | undefined {
    return this.#decisions.get(this.#keyOf(tokenKey))?.decision;
  }

  /**
   * Stores a decision of the API server. `expires` is the time at which the hub would reject the token anyway, in
   * milliseconds since the epoch; only set it for tokens that the hub can verify.
   */
  remember(tokenKey: string, decision: TokenDecision, expires?: number): void {
    const key = this.#keyOf(tokenKey);
    const known = this.#decisions.get(key);
    // Called for every review. There is at most one write to disk per token and hour.
    if (known?.decision === decision && this.#onlineMs - known.at < HOUR_MS) return;
    const stored: StoredDecision = {
      decision,
      at: this.#onlineMs,
      ...(decision === 'rejected' && expires !== undefined ? { expires } : {}),
    };
    this.#decisions.delete(key);
    this.#decisions.set(key, stored);
    this.#options.memory.put(key, Buffer.from(JSON.stringify(stored)));
    if (this.#decisions.size > MAX_DECISIONS) this.#forget(this.#leastImportant());
  }

  /** The oldest acceptance. Rejections go last, because a client with many tokens could push them out. */
  #leastImportant(): string {
    for (const [key, { decision }] of this.#decisions) if (decision === 'accepted') return key;
    return this.#decisions.keys().next().value!;
  }

  #countMinute(): void {
    const before = this.#onlineMs;
    this.#onlineMs += MINUTE_MS;
    if (crosses(before, this.#onlineMs, STORED_EVERY_MS)) this.#storeTime();
    if (!crosses(before, this.#onlineMs, HOUR_MS)) return;
    const now = this.#options.clock.now();
    for (const [key, { at, expires }] of this.#decisions) {
      const isOver = expires === undefined ? this.#onlineMs - at > REMEMBERED_MS : now - expires > HOUR_MS;
      if (isOver) this.#forget(key);
    }
  }

  #storeTime(): void {
    this.#options.memory.put(ONLINE, Buffer.from(String(this.#onlineMs)));
  }

  #forget(key: string): void {
    this.#decisions.delete(key);
    this.#options.memory.delete(key);
  }

  #keyOf(tokenKey: string): string {
    return DECISIONS + createHmac('sha256', this.#salt).update(tokenKey).digest('hex');
  }
}

/** Whether a multiple of `step` lies between the two times. */
const crosses = (before: number, after: number, step: number): boolean =>
  Math.floor(before / step) !== Math.floor(after / step);
