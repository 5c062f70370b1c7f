import { orAborted } from '@tidegate/kube';
import { Child, type ChildHooks, type ChildSpec } from './child.ts';
import { RunningChildren } from './leftovers.ts';
import { memoryOf, type ProcessReport } from './report.ts';

/**
 * The processes of a cluster by name. Their process ids are also recorded in a file, so that the next run can find
 * processes that outlived this one.
 */
export class Children {
  readonly #children = new Map<string, Child>();
  readonly #running: RunningChildren;
  readonly #report: (line: string) => void;

  /** `file` is where the process ids are recorded. */
  constructor(file: string, report: (line: string) => void) {
    this.#running = new RunningChildren(file);
    this.#report = report;
  }

  /** Resolves when the child is ready for the first time; rejects when it is given up, or with the signal's reason. */
  start(spec: ChildSpec, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const child = new Child(spec, this.#hooks);
    this.#children.set(spec.name, child);
    return orAborted(child.start(), signal);
  }

  /** Stops the named processes in parallel. Names of processes that were never started are ignored. */
  async stop(names: readonly string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#stop(name)));
  }

  kill(): void {
    for (const child of this.#children.values()) child.kill();
  }

  /** Removes the record. Call it when all children have stopped. */
  async close(): Promise<void> {
    await this.#running.clear();
  }

  /** Reports in the order of `names`. */
  reports(names: readonly string[]): Promise<ProcessReport[]> {
    const children = names.flatMap((name) => this.#children.get(name) ?? []);
    return Promise.all(
      children.map(async ({ status }) => ({ ...status, memoryBytes: await memoryOf(status.pid) })),
    );
  }

  async #stop(name: string): Promise<void> {
    const child = this.#children.get(name);
    const pid = child?.status.pid;
    const graceful = await child?.stop();
    if (pid === undefined) return;
    this.#report(`${name} ${graceful ? 'stopped' : 'did not stop in time and was killed'}`);
  }

  readonly #hooks: ChildHooks = {
    onStart: () => {
      const pids = [...this.#children.values()].flatMap(({ status }) => status.pid ?? []);
      this.#running
        .record(pids)
        .catch((error) => this.#report(`cannot record the running processes: ${(error as Error).message}`));
    },
    onExit: ({ spec }, why, delayMs) =>
      this.#report(`${spec.name} exited: ${why}; restarting in ${delayMs / 1000} s`),
    onReadyAgain: ({ spec }) => this.#report(`${spec.name} is running again`),
  };
}
