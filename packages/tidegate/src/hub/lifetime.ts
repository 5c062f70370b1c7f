import { setMaxListeners } from 'node:events';

/**
 * What has to stop when the hub stops, or when it fails to start: background tasks, which `signal` ends, and resources,
 * which are closed in the reverse order of their opening.
 */
export class Lifetime {
  readonly #stop = new AbortController();
  readonly #closers: (() => Promise<unknown> | unknown)[] = [];
  readonly #tasks: Promise<void>[] = [];

  constructor() {
    // Every open request listens for the end of the hub.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Aborted when the hub shuts down. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Registers what to do on `close`. The last registered function runs first. */
  onClose(closer: () => Promise<unknown> | unknown): void {
    this.#closers.push(closer);
  }

  /** Starts a task that runs until the signal is aborted. */
  run(task: (signal: AbortSignal) => Promise<void>): void {
    this.#tasks.push(task(this.signal));
  }

  /** Resolves when all tasks have ended. */
  async tasksEnded(): Promise<void> {
    await Promise.all(this.#tasks);
  }

  /**
   * Aborts the signal, then runs the registered functions one after the other. If one fails, the others run too, and the
   * first error is thrown at the end.
   */
  async close(): Promise<void> {
    this.#stop.abort();
    const errors: unknown[] = [];
    for (const closer of this.#closers.splice(0).reverse()) {
      try {
        await closer();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
