/** What each process takes, from when it has warmed up to its end: who needs more and more has a leak. */
import { setTimeout as sleep } from 'node:timers/promises';
import { memoryOf } from '../../packages/tidegate/src/supervisor/report.ts';
import { childrenOf } from './processes.ts';
import type { World } from './world.ts';

const LOOK_MS = 5_000;
/** Caches fill, code is compiled. */
const WARM_UP_MS = 45_000;
/** Of a shorter life nothing can be told. */
const SHORTEST_MS = 120_000;
/** What garbage collection leaves for later, and what a few more objects need. */
const GROWTH = { factor: 1.4, bytes: 24 * 1024 * 1024 };
/** Looks that count as one, so that no single one decides. */
const WINDOW = 6;

interface Life {
  kind: string;
  looks: { at: number; bytes: number }[];
}

export interface Weight {
  kind: string;
  lives: number;
  /** Of the one that grew most, in bytes. */
  warm: number;
  end: number;
  peak: number;
  leaks: boolean;
}

export class Memory {
  readonly #world: World;
  readonly #lives = new Map<number, Life>();
  readonly #stop = new AbortController();
  readonly #looking: Promise<void>;

  constructor(world: World) {
    this.#world = world;
    this.#looking = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#looking;
  }

  /** One line for each kind of process. */
  weights(): Weight[] {
    const all = [...this.#lives.values()];
    const kinds = new Set(all.map(({ kind }) => kind));
    return [...kinds].map((kind) =>
      weightOf(
        kind,
        all.filter((life) => life.kind === kind),
      ),
    );
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#look();
      // Woken early, it is the end.
      await sleep(LOOK_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    for (const [pid, kind] of await this.#processes()) {
      const bytes = await memoryOf(pid);
      if (bytes === undefined) continue;
      const life = this.#lives.get(pid) ?? { kind, looks: [] };
      life.looks.push({ at: performance.now(), bytes });
      this.#lives.set(pid, life);
    }
  }

  /** Those whom nobody can tell of at the moment are left out. */
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

function weightOf(kind: string, lives: readonly Life[]): Weight {
  const grown = lives.flatMap(growthOf).toSorted((a, b) => b.end / b.warm - a.end / a.warm);
  const { warm, end } = grown[0] ?? { warm: 0, end: 0 };
  const peak = Math.max(...lives.flatMap(({ looks }) => looks.map(({ bytes }) => bytes)));
  const leaks = grown.some((life) => life.end > life.warm * GROWTH.factor + GROWTH.bytes);
  return { kind, lives: lives.length, warm, end, peak, leaks };
}

/** Nothing for a life that was too short. */
function growthOf({ looks }: Life): { warm: number; end: number }[] {
  const start = looks[0]?.at ?? 0;
  const warm = looks.filter(({ at }) => at >= start + WARM_UP_MS).slice(0, WINDOW);
  if ((looks.at(-1)?.at ?? 0) - start < SHORTEST_MS || warm.length < WINDOW) return [];
  return [{ warm: median(warm), end: median(looks.slice(-WINDOW)) }];
}

const median = (looks: readonly { bytes: number }[]): number =>
  looks.map(({ bytes }) => bytes).toSorted((a, b) => a - b)[Math.floor(looks.length / 2)] ?? 0;
