/**
 * The story over and over, by chance: links are cut and mended, anything is killed, nodes move, routes come and go, while
 * somebody at every node asks the front door there. After each operation all must come right again, and whatever went
 * wrong on the way must be explained by what was done.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Chance } from '../support/random.ts';
import { Callers } from './callers.ts';
import type { Excuse } from './excuses.ts';
import { Memory, type Weight } from './memory.ts';
import { mendAll, type Operation, SORTS } from './operations/index.ts';
import { wrongs } from './truth.ts';
import type { World } from './world.ts';

export interface SoakOptions {
  seed: number;
  /** The names of the operations to choose from. */
  only: readonly string[];
  /** Whether to do another operation. */
  goesOn: () => boolean;
  report(line: string): void;
}

export interface SoakResult {
  operations: Map<string, number>;
  answered: number;
  /** What explains the answers that did not come. */
  excuses: Excuse[];
  weights: Weight[];
}

/** Backoff of whatever was killed several times, a pod that starts on a busy machine. */
const SETTLE_MS = 90_000;
const LOOK_AGAIN_MS = 300;
/** Sometimes the next trouble does not wait for the end of the last. */
const AT_ONCE_IN_A_HUNDRED = 25;
/** Long enough for a node to count as lost now and then. */
const LONGEST_PAUSE_MS = 2_000;
const LONG_PAUSE_MS = 35_000;
const LONG_IN_A_HUNDRED = 6;

/** Something was not as it must be. */
export class Violation extends Error {}

export class Soak {
  readonly #world: World;
  readonly #options: SoakOptions;
  readonly #chance: Chance;
  readonly #callers: Callers;
  readonly #memory: Memory;
  readonly #sorts: [string, Operation][][];
  readonly #operations = new Map<string, number>();
  readonly #startedAt = performance.now();

  constructor(world: World, options: SoakOptions) {
    this.#world = world;
    this.#options = options;
    this.#chance = new Chance(options.seed);
    this.#sorts = SORTS.map((sort) =>
      Object.entries(sort).filter(([name]) => options.only.includes(name)),
    ).filter(({ length }) => length > 0);
    this.#callers = new Callers(world.sites.all, (pool) => world.portsOf(pool).http, world.excuses);
    this.#memory = new Memory(world);
  }

  /** Rejects with a Violation when something is not as it must be. */
  async run(): Promise<SoakResult> {
    try {
      await this.#settle();
      while (this.#options.goesOn()) await this.#step();
      await mendAll(this.#world, this.#chance);
      await this.#settle();
    } finally {
      await this.#callers.stop();
      await this.#memory.stop();
    }
    return {
      operations: this.#operations,
      answered: this.#callers.answered,
      excuses: this.#world.excuses.used,
      weights: this.#memory.weights(),
    };
  }

  async #step(): Promise<void> {
    const [name, operation] = this.#chance.of(this.#chance.of(this.#sorts));
    const pause = this.#chance.integer(LONGEST_PAUSE_MS);
    const long = this.#chance.percent(LONG_IN_A_HUNDRED);
    const atOnce = this.#chance.percent(AT_ONCE_IN_A_HUNDRED);
    await this.#world.untilReachable();
    const done = await operation(this.#world, this.#chance.fork());
    if (done === undefined) return;
    this.#operations.set(name, (this.#operations.get(name) ?? 0) + 1);
    this.#say(done);
    if (atOnce) return;
    await this.#settle();
    await sleep(long ? LONG_PAUSE_MS : pause);
    this.#judge();
  }

  async #settle(): Promise<void> {
    const started = performance.now();
    for (;;) {
      this.#judge();
      const wrong = await wrongs(this.#world, this.#callers).catch((error) => [String(error)]);
      if (wrong.length === 0) return;
      if (performance.now() - started > SETTLE_MS)
        throw new Violation(`it does not come right:\n${wrong.join('\n')}`);
      await sleep(LOOK_AGAIN_MS);
    }
  }

  #judge(): void {
    const { violations } = this.#callers;
    if (violations.length === 0) return;
    const lines = violations
      .slice(0, 20)
      .map(({ at, pool, address, what }) => `${at.toISOString()} ${pool} at ${address}: ${what}`);
    throw new Violation(
      `${violations.length} answers that nothing that was done explains:\n${lines.join('\n')}`,
    );
  }

  #say(line: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1);
    this.#options.report(`${new Date().toISOString()} ${seconds.padStart(6)} s  ${line}`);
  }
}
