/**
 * Repeats random operations on the cluster of the story: links are cut and mended, processes are killed, nodes move,
 * routes come and go, while clients at every node send requests to the front door there. After each operation the
 * cluster must settle, and every failed request must be explained by an operation.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from '../support/patience.ts';
import { Chance } from '../support/random.ts';
import { Callers } from './callers.ts';
import type { Excuse } from './excuses.ts';
import { Memory, type MemoryUsage } from './memory.ts';
import { mendAll, OPERATION_GROUPS, type Operation } from './operations/index.ts';
import { problems } from './truth.ts';
import type { World } from './world.ts';

export interface SoakOptions {
  seed: number;
  /** The names of the operations to choose from. */
  only: readonly string[];
  /** Whether to run another operation. */
  shouldContinue: () => boolean;
  report(line: string): void;
}

export interface SoakResult {
  operations: Map<string, number>;
  answered: number;
  /** The operations that explain failed requests. */
  excuses: Excuse[];
  usages: MemoryUsage[];
}

/** Allows for the backoff of processes that were killed several times, and for slow pod starts on a busy machine. */
const SETTLE_MS = PATIENCE_MS;
const POLL_MS = 300;
/** How often the next operation starts before the cluster has settled. */
const OVERLAP_PERCENT = 25;
/** The long pause is long enough for a node to become NotReady now and then. */
const MAX_PAUSE_MS = 2_000;
const LONG_PAUSE_MS = 35_000;
const LONG_PAUSE_PERCENT = 6;

/** A check failed. */
export class Violation extends Error {}

export class Soak {
  readonly #world: World;
  readonly #options: SoakOptions;
  readonly #chance: Chance;
  readonly #callers: Callers;
  readonly #memory: Memory;
  readonly #groups: [string, Operation][][];
  readonly #operations = new Map<string, number>();
  readonly #startedAt = performance.now();

  constructor(world: World, options: SoakOptions) {
    this.#world = world;
    this.#options = options;
    this.#chance = new Chance(options.seed);
    this.#groups = OPERATION_GROUPS.map((group) =>
      Object.entries(group).filter(([name]) => options.only.includes(name)),
    ).filter(({ length }) => length > 0);
    this.#callers = new Callers(world.sites.all, (pool) => world.portsOf(pool).http, world.excuses);
    this.#memory = new Memory(world);
  }

  /** Rejects with a Violation when a check fails. */
  async run(): Promise<SoakResult> {
    try {
      await this.#settle();
      while (this.#options.shouldContinue()) await this.#step();
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
      usages: this.#memory.usages(),
    };
  }

  async #step(): Promise<void> {
    const [name, operation] = this.#chance.of(this.#chance.of(this.#groups));
    const pause = this.#chance.integer(MAX_PAUSE_MS);
    const long = this.#chance.percent(LONG_PAUSE_PERCENT);
    const overlaps = this.#chance.percent(OVERLAP_PERCENT);
    await this.#world.untilReachable();
    const done = await operation(this.#world, this.#chance.fork());
    if (done === undefined) return;
    this.#operations.set(name, (this.#operations.get(name) ?? 0) + 1);
    this.#log(done);
    if (overlaps) return;
    await this.#settle();
    await sleep(long ? LONG_PAUSE_MS : pause);
    this.#checkViolations();
  }

  async #settle(): Promise<void> {
    const started = performance.now();
    for (;;) {
      this.#checkViolations();
      const wrong = await problems(this.#world, this.#callers).catch((error) => [String(error)]);
      if (wrong.length === 0) return;
      if (performance.now() - started > SETTLE_MS)
        throw new Violation(`the cluster does not settle:\n${wrong.join('\n')}`);
      await sleep(POLL_MS);
    }
  }

  #checkViolations(): void {
    const { violations } = this.#callers;
    if (violations.length === 0) return;
    const lines = violations
      .slice(0, 20)
      .map(({ at, pool, address, what }) => `${at.toISOString()} ${pool} at ${address}: ${what}`);
    throw new Violation(`${violations.length} failures that no operation explains:\n${lines.join('\n')}`);
  }

  #log(line: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1);
    this.#options.report(`${new Date().toISOString()} ${seconds.padStart(6)} s  ${line}`);
  }
}
