/**
 * Random faults and changes at the same time: links are cut, slowed and silenced, hubs and the API server are
 * killed, objects change and kubelets write. From time to time everything is repaired. Then all programs must see
 * the right objects, and no acknowledged write may be lost.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { Chance } from '../support/random.ts';
import { begin, CHANGES } from './changes.ts';
import { PROGRAMS, type Program, ProgramClient } from './clients.ts';
import { type ChaosTarget, FAULTS, repairAll } from './faults.ts';
import { Kubelet } from './kubelet.ts';
import { Ledger } from './ledger.ts';
import type { HubUsage } from './node.ts';
import { settle } from './settle.ts';
import { World } from './world.ts';

export interface ChaosOptions {
  seed: number;
  /** At most three. */
  nodes: number;
  /** Whether to run another round; a round ends with a repair and a check. */
  rounds: () => boolean;
  /** The number of steps in a round. */
  steps: number;
  maxPauseMs: number;
  report(line: string): void;
}

export interface ChaosResult {
  steps: number;
  /** The number of writes that hubs have acknowledged. */
  writes: number;
  /** The memory and open files of the hubs at the end. */
  usages: HubUsage[];
}

/** The share of steps that are faults; the others are changes. */
const FAULT_PERCENT = 35;
const BURST_PERCENT = 3;

/** Rejects when a check fails. The directory of the cluster is then kept and named in the error. */
export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const world = await World.open(options.nodes);
  try {
    const result = await new Run(world, options).run();
    await world.close({ keep: false });
    return result;
  } catch (error) {
    await world.close({ keep: true });
    throw new Error(
      `the chaos test failed; repeat it with --seed ${options.seed}; the logs are in ${world.directory}`,
      { cause: error },
    );
  }
}

class Run {
  readonly #options: ChaosOptions;
  readonly #chance: Chance;
  readonly #ledger = new Ledger();
  readonly #target: ChaosTarget;
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
    this.#target = { world, programs };
    this.#kubelets = programs
      .filter(({ program }) => program === 'kubelet')
      .map((program) => new Kubelet(program, this.#ledger, this.#chance.fork()));
  }

  async run(): Promise<ChaosResult> {
    const { world, programs } = this.#target;
    await begin(world.admin, this.#chance);
    for (const program of programs) program.start();
    try {
      await this.#settle();
      while (this.#options.rounds()) await this.#round();
      const usages = await Promise.all(world.nodes.map((node) => node.usage()));
      return { steps: this.#steps, writes: this.#ledger.writes, usages };
    } finally {
      await Promise.all(this.#kubelets.map((kubelet) => kubelet.stop()));
      await Promise.all(programs.map((program) => program.stop()));
    }
  }

  async #round(): Promise<void> {
    for (const kubelet of this.#kubelets) kubelet.start();
    for (let i = 0; i < this.#options.steps; i++) {
      this.#log(await this.#step());
      this.#steps += 1;
      await sleep(this.#chance.integer(this.#options.maxPauseMs));
    }
    await repairAll(this.#target);
    this.#log('everything is repaired');
    await Promise.all(this.#kubelets.map((kubelet) => kubelet.stop()));
    await this.#settle();
  }

  async #step(): Promise<string> {
    const { world } = this.#target;
    // Drawn even if the API server is down, so that the same seed always gives the same sequence.
    const fault = this.#chance.percent(FAULT_PERCENT) || !world.serverRunning;
    if (fault) return this.#chance.of(Object.values(FAULTS))(this.#target, this.#chance);
    const { 'a burst': burst, ...changes } = CHANGES;
    const [name, change] = this.#chance.percent(BURST_PERCENT)
      ? (['a burst', burst] as const)
      : this.#chance.of(Object.entries(changes));
    await change?.(world.admin, this.#chance);
    return `changed ${name}`;
  }

  async #settle(): Promise<void> {
    const last = await settle(this.#target, this.#ledger);
    const wrong = [
      ...this.#target.programs.flatMap(({ leaks }) => leaks),
      ...this.#kubelets.flatMap(({ refusals }) => refusals),
    ];
    if (wrong.length > 0)
      throw new Error(`the cluster has settled, but these errors happened before:\n${wrong.join('\n')}`);
    this.#log(
      `settled; ${this.#ledger.writes} writes acknowledged so far; last difference: ${last.split(':\n', 1)}`,
    );
  }

  #log(line: string): void {
    const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1);
    this.#options.report(`${seconds} s, step ${this.#steps}: ${line}`);
  }
}
