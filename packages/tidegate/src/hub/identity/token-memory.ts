import { createHmac, randomBytes } from 'node:crypto';
import { type Clock, sleep } from '@tidegate/kube';
import type { Memory } from './memory.ts';

export interface TokenMemoryOptions {
  memory: Memory;
  /** Whether an API server is reachable. */
  online: () => boolean;
  clock: Clock;
}

/**
 * The last decision of the API server about a token. `hour` is the value of the counter of online hours at
 * that time.
 */
interface TokenDecision {
  accepted: boolean;
  hour: number;
}

const SALT = 'tokens/salt';
const HOURS = 'tokens/hours-online';
const DECISIONS = 'tokens/answer/';
const HOUR_MS = 3_600_000;
/**
 * How many online hours a decision is remembered. Offline hours do not count, because no client can present
 * its token to the API server then: a token that was accepted just before a week without a link must stay
 * valid for that week.
 */
const REMEMBERED_HOURS = 24;
const MAX_DECISIONS = 2_000;

/**
 * Remembers which tokens the API server accepted and which it rejected, so that the hub can authenticate
 * clients while no API server is reachable.
 *
 * Tokens are not stored here, only keyed hashes of them (HMAC-SHA256 with a random salt per node). The file
 * therefore contains no usable credential, and the hashes of two nodes cannot be compared.
 */
export class TokenMemory {
  readonly #options: TokenMemoryOptions;
  readonly #salt: Buffer;
  /** The decision that was made longest ago comes first. */
  readonly #decisions = new Map<string, TokenDecision>();
  /** The number of hours that the hub has been online, over all restarts. */
  #hour: number;

  private constructor(options: TokenMemoryOptions, salt: Buffer, hour: number) {
    this.#options = options;
    this.#salt = salt;
    this.#hour = hour;
  }

  static async open(options: TokenMemoryOptions): Promise<TokenMemory> {
    const { memory } = options;
    let salt = await memory.get(SALT);
    if (salt === undefined) {
      salt = randomBytes(32);
      memory.put(SALT, salt);
    }
    const hour = Number((await memory.get(HOURS))?.toString() ?? 0);
    const tokens = new TokenMemory(options, salt, hour);
    const stored = await Promise.all(
      [...memory.keys(DECISIONS)].map(async (key) => [key, await memory.get(key)] as const),
    );
    const decisions = stored.flatMap(([key, value]): [string, TokenDecision][] =>
      value === undefined ? [] : [[key, JSON.parse(value.toString()) as TokenDecision]],
    );
    for (const [key, decision] of decisions.sort(([, a], [, b]) => a.hour - b.hour))
      tokens.#decisions.set(key, decision);
    return tokens;
  }

  /** Counts the hours online until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, online } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, HOUR_MS, signal).catch(() => {}); // Rejects when aborted.
      if (!signal.aborted && online()) this.#countHour();
    }
  }

  /** Undefined if the API server has not seen the token, or if its decision is too old. */
  wasAccepted(token: string): boolean | undefined {
    return this.#decisions.get(this.#keyOf(token))?.accepted;
  }

  /** Stores a decision of the API server. If there are too many, the oldest is forgotten. */
  remember(token: string, accepted: boolean): void {
    const key = this.#keyOf(token);
    const known = this.#decisions.get(key);
    // Called for every request. The hour has one value for an hour, so there is at most one write to disk per
    // token and hour.
    if (known?.accepted === accepted && known.hour === this.#hour) return;
    const decision = { accepted, hour: this.#hour };
    this.#decisions.delete(key);
    this.#decisions.set(key, decision);
    this.#options.memory.put(key, Buffer.from(JSON.stringify(decision)));
    if (this.#decisions.size > MAX_DECISIONS) this.#forget(this.#decisions.keys().next().value!);
  }

  #countHour(): void {
    this.#hour++;
    this.#options.memory.put(HOURS, Buffer.from(String(this.#hour)));
    // Oldest first: the loop ends at the first decision that is recent enough.
    for (const [key, { hour }] of this.#decisions) {
      if (this.#hour - hour <= REMEMBERED_HOURS) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#decisions.delete(key);
    this.#options.memory.delete(key);
  }

  #keyOf(token: string): string {
    return DECISIONS + createHmac('sha256', this.#salt).update(token).digest('hex');
  }
}
