import { orAborted } from '@tidegate/kube';

/** The clients that wait for the first state of a view. */
export class Waiters {
  #pending: { promise: Promise<void>; resolve: () => void; reject: (why: Error) => void } | undefined;
  #why: Error | undefined;

  /** Resolves on `arrived`. Rejects when the signal is aborted, and while a reason is set with `setUnavailable`. */
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

  /** Rejects present and future waiters with this reason. Undefined: the state may arrive, so waiters wait again. */
  setUnavailable(why: Error | undefined): void {
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
  // Each waiter has a promise of its own. If all of them were aborted, nothing handles a rejection of this one.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
