/** The memory of each process, from the end of its warm-up until it exits. Continuous growth indicates a leak. */
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from '../../packages/tidegate/src/supervisor/report.ts';
import { childrenOf } from './processes.ts';
import type { World } from './world.ts';

const SAMPLE_MS = 5_000;
/** Caches fill, and code is compiled. */
const WARM_UP_MS = 45_000;
/** Shorter lives are not judged. */
const MIN_LIFE_MS = 120_000;
/** Tolerates uncollected garbage and the memory of a few more objects. */
const GROWTH = { factor: 1.4, bytes: 24 * 1024 * 1024 };
/** The number of samples that are combined into one by their median. */
const WINDOW = 6;

interface Life {
  kind: string;
  samples: { at: number; bytes: number }[];
}

export interface MemoryUsage {
  kind: string;
  lives: number;
  /** Of the process that grew most, in bytes. */
  warm: number;
  end: number;
  peak: number;
  leaks: boolean;
}

export class Memory {
  readonly #world: World;
  readonly #lives = new Map<number, Life>();
  readonly #stop = new AbortController();
  readonly #sampling: Promise<void>;

  constructor(world: World) {
    this.#world = world;
    this.#sampling = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#sampling;
  }

  /** One row for each kind of process. */
  usages(): MemoryUsage[] {
    const all = [...this.#lives.values()];
    const kinds = new Set(all.map(({ kind }) => kind));
    return [...kinds].map((kind) =>
      usageOf(
        kind,
        all.filter((life) => life.kind === kind),
      ),
    );
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#sample();
      // An early wake-up means the end.
      await sleep(SAMPLE_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  async #sample(): Promise<void> {
    for (const [pid, kind] of await this.#processes()) {
      const bytes = await memoryOf(pid);
      if (bytes === undefined) continue;
      const life = this.#lives.get(pid) ?? { kind, samples: [] };
      life.samples.push({ at: performance.now(), bytes });
      this.#lives.set(pid, life);
    }
  }

  /** Skips processes that cannot be determined at the moment. */
  async #processes(): Promise<[number, string][]> {
    const found = await Promise.allSettled([this.#parts(), this.#containers()]);
    return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  }

  async #parts(): Promise<[number, string][]> {
    const { processes } = await this.#world.report();
    return processes.flatMap(({ pid, name }): [number, string][] =>
      pid === undefined ? [] : [[pid, kindOf(name)]],
    );
  }

  async #containers(): Promise<[number, string][]> {
    const found: [number, string][] = [];
    for (const pool of this.#world.sites.pools) {
      for (const pod of await this.#world.appPods(pool)) {
        const pid = await this.#world.processes.ofPod(pod);
        if (pid !== undefined) found.push([pid, 'pod']);
      }
      for (const pod of await this.#world.routerPods(pool)) {
        const pid = await this.#world.processes.ofPod(pod);
        if (pid === undefined) continue;
        const masters = await childrenOf(pid);
        const workers = (await Promise.all(masters.map(childrenOf))).flat();
        found.push([pid, 'router']);
        found.push(...masters.map((master): [number, string] => [master, 'nginx master']));
        found.push(...workers.map((worker): [number, string] => [worker, 'nginx worker']));
      }
    }
    return found;
  }
}

const kindOf = (name: string): string =>
  name.startsWith('hub-') ? 'hub' : name.startsWith('node-') ? 'node' : name;

function usageOf(kind: string, lives: readonly Life[]): MemoryUsage {
  const grown = lives.flatMap(growthOf).toSorted((a, b) => b.end / b.warm - a.end / a.warm);
  const { warm, end } = grown[0] ?? { warm: 0, end: 0 };
  const peak = Math.max(...lives.flatMap(({ samples }) => samples.map(({ bytes }) => bytes)));
  const leaks = grown.some((life) => life.end > life.warm * GROWTH.factor + GROWTH.bytes);
  return { kind, lives: lives.length, warm, end, peak, leaks };
}

/** Empty for a life that was too short. */
function growthOf({ samples }: Life): { warm: number; end: number }[] {
  const start = samples[0]?.at ?? 0;
  const warm = samples.filter(({ at }) => at >= start + WARM_UP_MS).slice(0, WINDOW);
  if ((samples.at(-1)?.at ?? 0) - start < MIN_LIFE_MS || warm.length < WINDOW) return [];
  return [{ warm: median(warm), end: median(samples.slice(-WINDOW)) }];
}

const median = (samples: readonly { bytes: number }[]): number =>
  samples.map(({ bytes }) => bytes).toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? 0;
