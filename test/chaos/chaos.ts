/**
 * Everything at once, by chance: lines are cut, slowed and go silent, hubs and the API server are killed, the cloud
 * changes and kubelets write. Now and then all is mended, and then everybody must see what they should and nothing that
 * was answered may be lost.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { Chance } from '../support/random.ts';
import { begin, CHANGES } from './changes.ts';
import { PROGRAMS, type Program, ProgramClient } from './clients.ts';
import { FAULTS, mendAll, type Shaken } from './faults.ts';
import { Kubelet } from './kubelet.ts';
import { Ledger } from './ledger.ts';
import type { Weight } from './node.ts';
import { settle } from './quiet.ts';
import { World } from './world.ts';

export interface ChaosOptions {
  seed: number;
  /** At most three. */
  nodes: number;
  /** How many times everything is mended. */
  rounds: () => boolean;
  /** Between two of them. */
  steps: number;
  longestPauseMs: number;
  report(line: string): void;
}

export interface ChaosResult {
  steps: number;
  /** That hubs have answered. */
  writes: number;
  /** Of the hubs, at the end. */
  weights: Weight[];
}

const FAULTS_IN_A_HUNDRED = 35;
const BURSTS_IN_A_HUNDRED = 3;

/** Rejects when something is not as it should be; then the directory of the cluster is kept, and named. */
export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const world = await World.open(options.nodes);
  try {
    const result = await new Run(world, options).run();
    await world.close({ keep: false });
    return result;
  } catch (error) {
    await world.close({ keep: true });
    throw new Error(`seed ${options.seed}; logs are in ${world.directory}`, { cause: error });
  }
}

class Run {
  readonly #options: ChaosOptions;
  readonly #chance: Chance;
  readonly #ledger = new Ledger();
  readonly #shaken: Shaken;
  readonly #kubelets: Kubelet[];
  readonly #startedAt = performance.now();
  #steps = 0;

  constructor(world: World, options: ChaosOptions) {
    this.#options = options;
    this.#chance = new Chance(options.seed);
    const log = pino({ level: 'debug' }, pino.destination(join(world.directory, 'programs.log')));
    const programs = world.nodes.flatMap((node) =>
      (Object.keys(PROGRAMS) as Program[]).map(
        (program) => new ProgramClient(node, program, world.tokens, log),
      ),
    );
    this.#shaken = { world, programs };
    this.#kubelets = programs
      .filter(({ program }) => program === 'kubelet')
      .map((program) => new Kubelet(program, this.#ledger, this.#chance.fork()));
  }

  async run(): Promise<ChaosResult> {
    const { world, programs } = this.#shaken;
    await begin(world.admin, this.#chance);
    for (const program of programs) program.start();
    try {
      await this.#quiet();
      while (this.#options.rounds()) await this.#round();
      const weights = await Promise.all(world.nodes.map((node) => node.weight()));
      return { steps: this.#steps, writes: this.#ledger.writes, weights };
    } finally {
      await Promise.all(this.#kubelets.map((kubelet) => kubelet.stop()));
      await Promise.all(programs.map((program) => program.stop()));
    }
  }

  async #round(): Promise<void> {
    for (const kubelet of this.#kubelets) kubelet.start();
    for (let i = 0; i < this.#options.steps; i++) {
      this.#say(await this.#step());
      this.#steps += 1;
      await sleep(this.#chance.integer(this.#options.longestPauseMs));
    }
    await mendAll(this.#shaken);
    this.#say('all is mended');
    await Promise.all(this.#kubelets.map((kubelet) => kubelet.stop()));
    await this.#quiet();
  }

  async #step(): Promise<string> {
    const { world } = this.#shaken;
    // Drawn whether or not the API server runs, so that the same seed goes the same way.
    const fault = this.#chance.percent(FAULTS_IN_A_HUNDRED) || !world.serverRunning;
    if (fault) return this.#chance.of(Object.values(FAULTS))(this.#shaken, this.#chance);
    const { 'a burst': burst, ...changes } = CHANGES;
    const [name, change] = this.#chance.percent(BURSTS_IN_A_HUNDRED)
      ? (['a burst', burst] as const)
      : this.#chance.of(Object.entries(changes));
    await change?.(world.admin, this.#chance);
    return `${name} changes`;
  }

  async #quiet(): Promise<void> {
    const last = await settle(this.#shaken, this.#ledger);
    const wrong = [
      ...this.#shaken.programs.flatMap(({ leaks }) => leaks),
      ...this.#kubelets.flatMap(({ refusals }) => refusals),
    ];
    if (wrong.length > 0) throw new Error(`it has settled, but on the way:\n${wrong.join('\n')}`);
    this.#say(
      `settled; ${this.#ledger.writes} writes answered so far; last to come right: ${last.split(':\n', 1)}`,
    );
  }

  #say(line: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1);
    this.#options.report(`${seconds} s, step ${this.#steps}: ${line}`);
  }
}
