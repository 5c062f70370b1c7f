import {
  backoffDelay,
  isForbidden,
  type Mirror,
  Reflector,
  SECRETS,
  type Secret,
  sleep,
  splitKey,
} from '@tidegate/kube';
import type { SecretSource, SecretSourceOptions } from './secret-source.ts';

interface Watch {
  readonly stop: AbortController;
  readonly running: Promise<void>;
  /** Resolves when the first list has returned. */
  readonly answered: Promise<void>;
}

/** Access to a Secret may be granted a moment after the Ingress that refers to it is created. */
const FORBIDDEN_BACKOFF = { baseMs: 200, maxMs: 5_000 };

/**
 * Watches each needed Secret by name, so that the router needs no permission to read other Secrets. For routers without an
 * L7Router: no manager notifies them of changes (`secret-reads.ts`).
 */
export class SecretWatches implements SecretSource {
  readonly #options: SecretSourceOptions;
  readonly #watches = new Map<string, Watch>();

  constructor(options: SecretSourceOptions) {
    this.#options = options;
  }

  /** Starts to watch a Secret, `namespace/name`. */
  follow(key: string): void {
    if (this.#watches.has(key)) return;
    const stop = new AbortController();
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const running = this.#watch(key, stop.signal, answer);
    this.#watches.set(key, { stop, running, answered });
  }

  unfollow(key: string): void {
    this.#watches.get(key)?.stop.abort();
    this.#watches.delete(key);
  }

  follows(key: string): boolean {
    return this.#watches.has(key);
  }

  /** Resolves when the first list of every current watch has returned. */
  async answered(): Promise<void> {
    await Promise.all([...this.#watches.values()].map((watch) => watch.answered));
  }

  async close(): Promise<void> {
    const all = [...this.#watches.values()];
    this.#watches.clear();
    for (const { stop } of all) stop.abort();
    await Promise.all(all.map(({ running }) => running));
  }

  async #watch(key: string, signal: AbortSignal, answer: () => void): Promise<void> {
    const { clock, random, log } = this.#options;
    const report = (secret: Secret | undefined): void => {
      if (!signal.aborted) this.#options.onSecret(key, secret);
      answer();
    };
    for (let refusals = 0; !signal.aborted; refusals++) {
      try {
        await this.#reflector(key, report).run(signal);
      } catch (error) {
        log[refusals === 5 ? 'warn' : 'debug'](
          { secret: key, err: error },
          'no permission to read a Secret yet; retrying',
        );
        await sleep(clock, backoffDelay(refusals, FORBIDDEN_BACKOFF, random), signal).catch(() => {}); // Aborted: the loop ends.
      }
    }
  }

  #reflector(key: string, report: (secret: Secret | undefined) => void): Reflector<Secret> {
    const { client, clock, random, log } = this.#options;
    const { namespace, name } = splitKey(key);
    // A list by name returns the Secret or nothing.
    const mirror: Mirror<Secret> = {
      keep: (secret) => secret,
      replace: ([secret]) => report(secret),
      apply: (type, secret) => report(type === 'DELETED' ? undefined : secret),
    };
    return new Reflector(client, SECRETS, mirror, {
      select: { namespace, fieldSelector: `metadata.name=${name}` },
      clock,
      random,
      log: log.child({ secret: key }),
      isFinal: isForbidden,
    });
  }
}
