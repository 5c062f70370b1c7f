import { ApiError } from '@tidegate/serving';

export interface TurnLimits {
  /** Reviews of all holders that run at the same time. */
  readonly running: number;
  readonly runningPerHolder: number;
  readonly waitingPerHolder: number;
}

/**
 * Limits how many reviews run at the same time, and lets holders take turns. A client can invent any number of tokens, and
 * each of them costs a request to the API server with the credentials of the node: without a limit, one client could use
 * up what the API server grants to the node, and the kubelet would wait.
 */
export class ReviewTurns {
  readonly #limits: TurnLimits;
  /** Waiting reviews by holder. The holder whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #runningOf = new Map<string, number>();
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Throws 429 if the holder has too many reviews that wait. */
  async run<T>(holder: string, review: () => Promise<T>): Promise<T> {
    if (!this.#hasPlace(holder)) await this.#wait(holder);
    else this.#start(holder);
    try {
      return await review();
    } finally {
      this.#end(holder);
    }
  }

  #hasPlace(holder: string): boolean {
    const { running, runningPerHolder } = this.#limits;
    return this.#running < running && (this.#runningOf.get(holder) ?? 0) < runningPerHolder;
  }

  /** Resolves when the review has a place, which is counted already. */
  #wait(holder: string): Promise<void> {
    const own = this.#waiting.get(holder) ?? [];
    if (own.length >= this.#limits.waitingPerHolder) return Promise.reject(tooManyTokens());
    this.#waiting.set(holder, own);
    return new Promise((resolve) => own.push(resolve));
  }

  #start(holder: string): void {
    this.#running++;
    this.#runningOf.set(holder, (this.#runningOf.get(holder) ?? 0) + 1);
  }

  #end(holder: string): void {
    this.#running--;
    const left = (this.#runningOf.get(holder) ?? 0) - 1;
    if (left > 0) this.#runningOf.set(holder, left);
    else this.#runningOf.delete(holder);
    this.#next();
  }

  #next(): void {
    for (const [holder, own] of this.#waiting) {
      if (!this.#hasPlace(holder)) continue;
      const start = own.shift();
      // Deleting the key, and setting it again, moves the holder to the end of the round.
      this.#waiting.delete(holder);
      if (own.length > 0) this.#waiting.set(holder, own);
      this.#start(holder);
      start?.();
      return;
    }
  }
}

const tooManyTokens = (): ApiError =>
  new ApiError(
    429,
    'TooManyRequests',
    'too many tokens of this client wait for a review by the API server; try again later, with fewer requests at a time',
    { retryAfterSeconds: 1 },
  );
