import { orAborted } from '@tidegate/kube';
import { Child, type ChildHooks, type ChildSpec } from './child.ts';
import { RunningChildren } from './leftovers.ts';
import { memoryOf, type ProcessReport } from './report.ts';

/** The processes of a cluster, by name; written down, so that the next run knows of those that outlive this one. */
export class Children {
  readonly #children = new Map<string, Child>();
  readonly #running: RunningChildren;
  readonly #report: (line: string) => void;

  /** `file`: where they are written down. */
  constructor(file: string, report: (line: string) => void) {
    this.#running = new RunningChildren(file);
    this.#report = report;
  }

  /** Resolves when it is ready for the first time; rejects when it can never be, or with the signal's reason. */
  start(spec: ChildSpec, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const child = new Child(spec, this.#hooks);
    this.#children.set(spec.name, child);
    return orAborted(child.start(), signal);
  }

  /** All at the same time; names of processes that never were do not matter. */
  async stop(names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#stop(name)));
  }

  kill(): void {
    for (const child of this.#children.values()) child.kill();
  }

  /** When all of them have been stopped. */
  async close(): Promise<void> {
    await this.#running.clear();
  }

  /** In the order of the names. */
  reports(names: readonly string[]): Promise<ProcessReport[]> {
    const children = names.flatMap((name) => this.#children.get(name) ?? []);
    return Promise.all(
      children.map(async ({ status }) => ({ ...status, memoryBytes: await memoryOf(status.pid) })),
    );
  }

  async #stop(name: string): Promise<void> {
    const child = this.#children.get(name);
    const pid = child?.status.pid;
    const willing = await child?.stop();
    if (pid === undefined) return;
    this.#report(`${name} ${willing ? 'stopped' : 'did not end in time and was killed'}`);
  }

  readonly #hooks: ChildHooks = {
    onStart: () => {
      const pids = [...this.#children.values()].flatMap(({ status }) => status.pid ?? []);
      this.#running.record(pids).catch((error) => this.#report(`can not write down its processes: ${error}`));
    },
    onExit: ({ spec }, why, delayMs) =>
      this.#report(`${spec.name} ended: ${why}; starting it again in ${delayMs / 1000} s`),
    onBack: ({ spec }) => this.#report(`${spec.name} is back`),
  };
}
