import {
  type Clock,
  ConnectionError,
  DeadlineError,
  isForbidden,
  isUnauthorized,
  type Logger,
} from '@tidegate/kube';

/** A request can wait for half a minute before it fails, and its informer logs nothing until then. */
const LOOK_MS = 3_000;
/** How often the same sentence is logged. */
const REPEAT_MS = 60_000;

/**
 * What a manager that starts is waiting for. It is logged after a few seconds, for each new reason and once a minute, and
 * is part of the answer of `/readyz`: a manager without its API server must not look like one that hangs.
 */
export class Waiting {
  readonly #server: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** One for each task that runs. */
  readonly #reasons = new Set<() => string>();
  /** When each sentence was logged. Several tasks may wait for the same reason. */
  readonly #loggedAt = new Map<string, number>();

  /** `server` is the URL of the API server. */
  constructor(server: string, { clock, log }: { clock: Clock; log: Logger }) {
    this.#server = server;
    this.#clock = clock;
    this.#log = log;
  }

  /** Sentences for `/readyz`. */
  reasons(): string[] {
    return [...new Set([...this.#reasons].map((reason) => reason()))];
  }

  /** Reports until the task has ended. `trouble` returns the last error, if there was one. */
  async during<T>(what: string, task: Promise<T>, trouble: () => unknown): Promise<T> {
    const reason = (): string => sentenceFor(this.#server, what, trouble());
    this.#reasons.add(reason);
    const stop = this.#report(reason);
    try {
      return await task;
    } finally {
      stop();
      this.#reasons.delete(reason);
      if (this.#reasons.size === 0) this.#loggedAt.clear();
    }
  }

  #report(reason: () => string): () => void {
    let cancel = (): void => {};
    const look = (): void => {
      const [sentence, at] = [reason(), this.#clock.monotonic()];
      const before = this.#loggedAt.get(sentence);
      if (before === undefined || at - before >= REPEAT_MS) {
        this.#log.warn({}, `${sentence}; retrying`);
        this.#loggedAt.set(sentence, at);
      }
      cancel = this.#clock.after(LOOK_MS, look);
    };
    cancel = this.#clock.after(LOOK_MS, look);
    return () => cancel();
  }
}

function sentenceFor(server: string, what: string, error: unknown): string {
  if (error === undefined) return `the API server at ${server} has not answered yet (to ${what})`;
  const message = error instanceof Error ? error.message : String(error);
  if (isUnauthorized(error))
    return `the API server at ${server} does not accept the credentials of the manager (401 ${message}): check its ServiceAccount or kubeconfig`;
  if (isForbidden(error))
    return `the API server at ${server} does not allow the manager to ${what} (403 ${message}): grant the permissions in deploy/, for example with tidegate install`;
  if (error instanceof ConnectionError || error instanceof DeadlineError)
    return `the API server at ${server} is unreachable (${message}): check the network and the address`;
  return `the API server at ${server} cannot ${what} (${message})`;
}
