/**
 * Evaluates reviews one at a time, in turns between tenants. A rule may compute for a moment, and Node has one thread: with
 * a plain queue, a tenant that sends many expensive objects would delay the reviews of all others beyond the timeout of
 * the API server. Here a review waits for at most one review of each other tenant, or for a part of it: long reviews give
 * way now and then (`turn`).
 */

/** A review was not evaluated because too many of them are waiting. */
export class QueueFullError extends Error {}

export interface QueueLimits {
  /** Waiting reviews of all tenants. */
  most: number;
  mostPerTenant: number;
  /** Reviews of one tenant that have started and not ended. */
  runningPerTenant: number;
}

interface Waiting {
  /** A new review, and not the next part of one that runs. */
  readonly starts: boolean;
  run(): void;
}

export class ReviewQueue {
  /** Waiting reviews by tenant. The tenant whose turn is next comes first. */
  readonly #tenants = new Map<string, Waiting[]>();
  /** How many reviews of a tenant run. */
  readonly #running = new Map<string, number>();
  readonly #limits: QueueLimits;
  /** Reviews that have not started. */
  #waiting = 0;
  #isActive = false;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /**
   * Rejects with QueueFullError if too many reviews are waiting, with the error of `evaluate`, or with the reason of the
   * signal. A review that is aborted while it waits never starts.
   */
  run<T>(tenant: string, evaluate: () => Promise<T> | T, signal?: AbortSignal): Promise<T> {
    const own = this.#tenants.get(tenant)?.filter(({ starts }) => starts).length ?? 0;
    if (own >= this.#limits.mostPerTenant || this.#waiting >= this.#limits.most)
      return Promise.reject(
        new QueueFullError(`${this.#waiting} reviews are waiting, ${own} of them of this tenant`),
      );
    return this.#wait(tenant, true, signal, async () => {
      this.#running.set(tenant, this.#runningOf(tenant) + 1);
      try {
        return await evaluate();
      } finally {
        this.#ended(tenant);
      }
    });
  }

  /**
   * For a review that is being evaluated: lets the others run, and resolves when it is the turn of the tenant again. Rejects
   * when the signal is aborted, which ends the evaluation.
   */
  turn(tenant: string, signal?: AbortSignal): Promise<void> {
    return this.#wait(tenant, false, signal, async () => undefined);
  }

  #wait<T>(
    tenant: string,
    starts: boolean,
    signal: AbortSignal | undefined,
    run: () => Promise<T>,
  ): Promise<T> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise<T>((resolve, reject) => {
      const aborted = (): void => {
        this.#remove(tenant, waiting);
        reject(signal?.reason);
      };
      const waiting: Waiting = {
        starts,
        // Rules that ask the API server must not block the queue while they wait, so the result is not awaited here.
        run: () => {
          void Promise.resolve()
            .then(run)
            .then(resolve, reject)
            .finally(() => signal?.removeEventListener('abort', aborted));
        },
      };
      signal?.addEventListener('abort', aborted, { once: true });
      const own = this.#tenants.get(tenant) ?? [];
      own.push(waiting);
      this.#tenants.set(tenant, own);
      if (starts) this.#waiting++;
      if (!this.#isActive) this.#next();
    });
  }

  /** Starts one review or a part of one, and yields to input and output before the next. */
  #next(): void {
    const [tenant, waiting] = this.#first() ?? [];
    this.#isActive = waiting !== undefined;
    if (tenant === undefined || waiting === undefined) return;
    this.#remove(tenant, waiting);
    const rest = this.#tenants.get(tenant);
    if (rest !== undefined) {
      // Deleting and setting the key again moves the tenant to the end of the round.
      this.#tenants.delete(tenant);
      this.#tenants.set(tenant, rest);
    }
    waiting.run();
    setImmediate(() => this.#next());
  }

  /** What may run now. A tenant with too many running reviews can only continue those. */
  #first(): [tenant: string, waiting: Waiting] | undefined {
    for (const [tenant, own] of this.#tenants) {
      const mayStart = this.#runningOf(tenant) < this.#limits.runningPerTenant;
      const waiting = own.find(({ starts }) => mayStart || !starts);
      if (waiting !== undefined) return [tenant, waiting];
    }
    return undefined;
  }

  #remove(tenant: string, waiting: Waiting): void {
    const own = this.#tenants.get(tenant) ?? [];
    const at = own.indexOf(waiting);
    if (at < 0) return;
    own.splice(at, 1);
    if (waiting.starts) this.#waiting--;
    if (own.length === 0) this.#tenants.delete(tenant);
  }

  #runningOf(tenant: string): number {
    return this.#running.get(tenant) ?? 0;
  }

  #ended(tenant: string): void {
    const running = this.#runningOf(tenant) - 1;
    if (running > 0) this.#running.set(tenant, running);
    else this.#running.delete(tenant);
    if (!this.#isActive) this.#next();
  }
}
