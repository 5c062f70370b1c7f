import { quotePath } from '@tidegate/disk';
import { orAborted } from '@tidegate/kube';
import { Child, type ChildHooks, type ChildSpec, type ChildStatus } from './child.ts';
import { SupervisorError } from './error.ts';
import { RunningChildren } from './leftovers.ts';
import { PATIENCE_SECONDS } from './liveness.ts';
import { memoryOf, type ProcessReport, type Reporter } from './report.ts';

const RETRY_MS = 5_000;

/**
 * The processes of a cluster by name. Their process ids are also recorded in a file, so that the next run can find
 * processes that outlived this one.
 */
export class Children {
  readonly #children = new Map<string, Child>();
  readonly #running: RunningChildren;
  readonly #reporter: Reporter;
  /** Why the record could not be written, and when that is tried again. */
  #unrecorded: { reason: string; retry: NodeJS.Timeout } | undefined;
  #retired = false;

  /** `file` is where the process ids are recorded. */
  constructor(file: string, reporter: Reporter) {
    this.#running = new RunningChildren(file);
    this.#reporter = reporter;
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

  statusOf(name: string): ChildStatus | undefined {
    return this.#children.get(name)?.status;
  }

  /** False for a process that runs but does not respond. */
  isResponding(name: string): boolean {
    return this.statusOf(name)?.state !== 'unresponsive';
  }

  /** Kills a process, which is restarted. Returns its pid. */
  crash(name: string): number {
    const child = this.#children.get(name);
    const pid = child?.crash();
    if (pid !== undefined) return pid;
    throw new SupervisorError(`${name} does not run; it is ${child?.status.state ?? 'not started yet'}`);
  }

  /** Kills those of the processes that run. They are restarted. */
  crashIfRunning(...names: string[]): void {
    for (const name of names) this.#children.get(name)?.crash();
  }

  /** From now on, processes that exit are not restarted. Call it before they are stopped one after the other. */
  retire(): void {
    this.#retired = true;
    for (const child of this.#children.values()) child.retire();
  }

  kill(): void {
    for (const child of this.#children.values()) child.kill();
  }

  /** Removes the record. Call it when all children have stopped. */
  async close(): Promise<void> {
    clearTimeout(this.#unrecorded?.retry);
    await this.#running.clear();
  }

  /** Reports in the order of `names`. */
  reports(names: readonly string[]): Promise<ProcessReport[]> {
    const children = names.flatMap((name) => this.#children.get(name) ?? []);
    return Promise.all(
      children.map(async ({ status }) => ({ ...status, memoryBytes: await memoryOf(status.pid) })),
    );
  }

  /** A full disk would be reported with every restart, so each reason is reported once, until the record is written. */
  async #record(): Promise<void> {
    clearTimeout(this.#unrecorded?.retry);
    try {
      await this.#running.record([...this.#children.values()].flatMap(({ status }) => status.pid ?? []));
      if (this.#unrecorded !== undefined) this.#reporter.note('the running processes are recorded again');
      clearTimeout(this.#unrecorded?.retry);
      this.#unrecorded = undefined;
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      const reason = code ?? message;
      if (reason !== this.#unrecorded?.reason)
        this.#reporter.note(`cannot record the running processes: ${message}`);
      clearTimeout(this.#unrecorded?.retry);
      this.#unrecorded = { reason, retry: setTimeout(() => void this.#record(), RETRY_MS).unref() };
    }
  }

  async #stop(name: string): Promise<void> {
    const child = this.#children.get(name);
    const pid = child?.status.pid;
    const graceful = await child?.stop();
    if (pid === undefined) return;
    if (graceful) this.#reporter.step(`${name} stopped`);
    else this.#reporter.note(`${name} did not stop in time and was killed`);
  }

  readonly #hooks: ChildHooks = {
    onStart: () => {
      void this.#record();
    },
    onExit: ({ spec }, why, delayMs) => {
      const next = delayMs === undefined ? '' : `; restarting in ${delayMs / 1000} s`;
      this.#reporter.note(`${spec.name} exited: ${why}${next} (log: ${quotePath(spec.log)})`);
    },
    onSilent: ({ spec }) => {
      const next = this.#retired ? 'killed' : 'restarted';
      this.#reporter.note(
        `${spec.name} does not respond; it is ${next} if that lasts for ${PATIENCE_SECONDS} s (log: ${quotePath(spec.log)})`,
      );
    },
    onResponding: ({ spec }) => this.#reporter.note(`${spec.name} responds again`),
    onReadyAgain: ({ spec }) => this.#reporter.note(`${spec.name} is running again`),
  };
}
