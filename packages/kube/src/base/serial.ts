/** Tasks one after the other, in the order in which they were asked for. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects with this task; one that fails does not keep the next from running. */
  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task);
    // Whoever asked for the task hears of its failure.
    this.#last = done.catch(() => {});
    return done;
  }

  /** Resolves when all that was asked for so far has ended, well or not. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
