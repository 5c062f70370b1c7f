import {
  backoffDelay,
  type Clock,
  isForbidden,
  type KubeClient,
  type KubeObject,
  type Logger,
  type Mirror,
  type Random,
  Reflector,
  type Resource,
  sleep,
  splitKey,
} from '@tidegate/kube';
import type { SecretSource } from './secret-source.ts';

interface NamedWatchesOptions<T extends KubeObject> {
  client: KubeClient;
  resource: Resource<T>;
  /** `object` is undefined if it does not exist. */
  onObject(key: string, object: T | undefined): void;
  clock: Clock;
  random: Random;
  log: Logger;
}

interface Watch {
  readonly stop: AbortController;
  readonly running: Promise<void>;
  /** Resolves when the first list has returned. */
  readonly answered: Promise<void>;
}

/** Access to an object may be granted a moment after the Ingress that refers to it is created. */
const FORBIDDEN_BACKOFF = { baseMs: 200, maxMs: 5_000 };

/**
 * Watches each needed object by name, so that the router needs no permission to read others. For ConfigMaps, of which there are
 * few; and for Secrets of routers without an L7Router: no manager notifies them of changes (`secret-reads.ts`).
 */
export class NamedWatches<T extends KubeObject> implements SecretSource {
  readonly #options: NamedWatchesOptions<T>;
  readonly #watches = new Map<string, Watch>();

  constructor(options: NamedWatchesOptions<T>) {
    this.#options = options;
  }

  /** Starts to watch an object, `namespace/name`. */
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
    const report = (object: T | undefined): void => {
      if (!signal.aborted) this.#options.onObject(key, object);
      answer();
    };
    for (let refusals = 0; !signal.aborted; refusals++) {
      try {
        await this.#reflector(key, report).run(signal);
      } catch (error) {
        log[refusals === 5 ? 'warn' : 'debug'](
          { resource: this.#options.resource.resource, object: key, err: error },
          'no permission to read an object that an Ingress names yet; retrying',
        );
        await sleep(clock, backoffDelay(refusals, FORBIDDEN_BACKOFF, random), signal).catch(() => {}); // Aborted: the loop ends.
      }
    }
  }

  #reflector(key: string, report: (object: T | undefined) => void): Reflector<T> {
    const { client, resource, clock, random, log } = this.#options;
    const { namespace, name } = splitKey(key);
    // A list by name returns the object or nothing.
    const mirror: Mirror<T> = {
      keep: (object) => object,
      replace: ([object]) => report(object),
      apply: (type, object) => report(type === 'DELETED' ? undefined : object),
    };
    return new Reflector(client, resource, mirror, {
      select: { namespace, fieldSelector: `metadata.name=${name}` },
      clock,
      random,
      log: log.child({ object: key }),
      isFinal: isForbidden,
    });
  }
}
