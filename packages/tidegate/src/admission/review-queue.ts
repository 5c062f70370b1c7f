/**
 * Evaluates reviews one at a time, in turns between tenants. A rule may compute for a moment, and Node has one thread: with
 * a plain queue, a tenant that sends many expensive objects would delay the reviews of all others beyond the timeout of
 * the API server. Here a review waits for at most one review of each other tenant, or for a part of it: long reviews give
 * way now and then (`turn`).
 */

/** A review was not evaluated because too many of them are waiting. */
export class QueueFullError extends Error {}

export class ReviewQueue {
  /** Waiting reviews by tenant. The tenant whose turn is next comes first. */
  readonly #tenants = new Map<string, (() => void)[]>();
  readonly #mostPerTenant: number;
  readonly #most: number;
  #waiting = 0;
  #isRunning = false;

  constructor(limits: { mostPerTenant: number; most: number }) {
    this.#mostPerTenant = limits.mostPerTenant;
    this.#most = limits.most;
  }

  /** Rejects with QueueFullError if too many reviews are waiting, or with the error of `evaluate`. */
  run<T>(tenant: string, evaluate: () => Promise<T> | T): Promise<T> {
    const own = this.#tenants.get(tenant) ?? [];
    if (own.length >= this.#mostPerTenant || this.#waiting >= this.#most)
      return Promise.reject(
        new QueueFullError(`${this.#waiting} reviews are waiting, ${own.length} of them of this tenant`),
      );
    return new Promise<T>((resolve, reject) => {
      // Rules that ask the API server must not block the queue while they wait, so the result is not awaited here.
      this.#wait(tenant, () => void Promise.resolve().then(evaluate).then(resolve, reject));
    });
  }

  /** For a review that is being evaluated: lets the others run, and resolves when it is the turn of the tenant again. */
  turn(tenant: string): Promise<void> {
    return new Promise((resolve) => {
      this.#wait(tenant, resolve);
    });
  }

  #wait(tenant: string, run: () => void): void {
    const own = this.#tenants.get(tenant) ?? [];
    own.push(run);
    this.#tenants.set(tenant, own);
    this.#waiting++;
    if (!this.#isRunning) this.#next();
  }

  /** Starts one review, and yields to input and output before the next. */
  #next(): void {
    const [tenant, own] = this.#tenants.entries().next().value ?? [];
    this.#isRunning = tenant !== undefined;
    if (tenant === undefined || own === undefined) return;
    // Deleting and setting the key again moves the tenant to the end of the round.
    this.#tenants.delete(tenant);
    const first = own.shift();
    this.#waiting--;
    if (own.length > 0) this.#tenants.set(tenant, own);
    first?.();
    setImmediate(() => this.#next());
  }
}
