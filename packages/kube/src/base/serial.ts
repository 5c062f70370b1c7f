/** Runs tasks one after the other, in the order in which they were requested. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Settles like this task. A failed task does not prevent the next one from running. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task);
    // The caller of `run` receives the error; here it only must not block the next task.
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when every task requested so far has settled. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
