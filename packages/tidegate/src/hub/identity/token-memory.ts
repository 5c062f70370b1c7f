import { createHmac, randomBytes } from 'node:crypto';
import { type Clock, sleep } from '@tidegate/kube';
import type { Memory } from './memory.ts';

export interface TokenMemoryOptions {
  memory: Memory;
  online: () => boolean;
  clock: Clock;
}

/** What the API server last said of a token, and the hour of our time online when it did. */
interface Answer {
  accepted: boolean;
  hour: number;
}

const SALT = 'tokens/salt';
const HOURS = 'tokens/hours-online';
const ANSWERS = 'tokens/answer/';
const HOUR_MS = 3_600_000;
/** Time without a link does not count: nobody could ask the API server again. */
const REMEMBERED_HOURS = 24;
const MOST_REMEMBERED = 2_000;

/** Which tokens the API server took and which it refused. Of the tokens themselves nothing is kept but salted hashes. */
export class TokenMemory {
  readonly #options: TokenMemoryOptions;
  readonly #salt: Buffer;
  /** The one that was asked about longest ago stands first. */
  readonly #answers = new Map<string, Answer>();
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
      [...memory.keys(ANSWERS)].map(async (key) => [key, await memory.get(key)] as const),
    );
    const answers = stored.flatMap(([key, value]): [string, Answer][] =>
      value === undefined ? [] : [[key, JSON.parse(value.toString()) as Answer]],
    );
    for (const [key, answer] of answers.sort(([, a], [, b]) => a.hour - b.hour))
      tokens.#answers.set(key, answer);
    return tokens;
  }

  /** Counts the hours online until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, online } = this.#options;
    while (!signal.aborted) {
      await sleep(clock, HOUR_MS, signal).catch(() => {}); // Aborted: the loop ends.
      if (!signal.aborted && online()) this.#countHour();
    }
  }

  /** Undefined: the API server was never asked, or too long ago. */
  wasAccepted(token: string): boolean | undefined {
    return this.#answers.get(this.#keyOf(token))?.accepted;
  }

  remember(token: string, accepted: boolean): void {
    const key = this.#keyOf(token);
    const known = this.#answers.get(key);
    // Told with every request: it is written once an hour.
    if (known?.accepted === accepted && known.hour === this.#hour) return;
    const answer = { accepted, hour: this.#hour };
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    this.#options.memory.put(key, Buffer.from(JSON.stringify(answer)));
    if (this.#answers.size > MOST_REMEMBERED) this.#forget(this.#answers.keys().next().value!);
  }

  #countHour(): void {
    this.#hour++;
    this.#options.memory.put(HOURS, Buffer.from(String(this.#hour)));
    for (const [key, { hour }] of this.#answers) {
      if (this.#hour - hour <= REMEMBERED_HOURS) return;
      this.#forget(key);
    }
  }

  #forget(key: string): void {
    this.#answers.delete(key);
    this.#options.memory.delete(key);
  }

  #keyOf(token: string): string {
    return ANSWERS + createHmac('sha256', this.#salt).update(token).digest('hex');
  }
}
