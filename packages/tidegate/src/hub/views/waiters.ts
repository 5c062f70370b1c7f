import { orAborted } from '@tidegate/kube';

/** Those who wait for the first state of a view. */
export class Waiters {
  #pending: { promise: Promise<void>; resolve: () => void; reject: (why: Error) => void } | undefined;
  #why: Error | undefined;

  /** Rejects with what keeps the state from coming, now or later, or when aborted. */
  wait(signal: AbortSignal): Promise<void> {
    if (this.#why !== undefined) return Promise.reject(this.#why);
    this.#pending ??= deferred();
    return orAborted(this.#pending.promise, signal);
  }

  arrived(): void {
    this.#why = undefined;
    this.#pending?.resolve();
    this.#pending = undefined;
  }

  despair(why: Error | undefined): void {
    this.#why = why;
    if (why === undefined) return;
    this.#pending?.reject(why);
    this.#pending = undefined;
  }
}

function deferred() {
  let resolve = (): void => {};
  let reject = (_why: Error): void => {};
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  // Whoever waits has a promise of their own; when all have gone away nobody is left to hear of it.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
