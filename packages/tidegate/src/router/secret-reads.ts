import {
  backoffDelay,
  Controller,
  isForbidden,
  type KubeClient,
  type Logger,
  type Random,
  type ReconcileResult,
  SECRETS,
  type Secret,
  splitKey,
} from '@tidegate/kube';
import { changedGroups, groupOf, type SecretVersions } from '../ingress/secret-versions.ts';
import type { SecretSource, SecretSourceOptions } from './secret-source.ts';

interface Read {
  /** Consecutive attempts that failed. */
  failures: number;
  /** Of these, the last ones in sequence that the API server refused. */
  refusals: number;
  /** Resolves when the first attempt has ended. */
  readonly answered: Promise<void>;
  readonly answer: () => void;
}

const CONCURRENCY = 8;
const BACKOFF = { baseMs: 200, maxMs: 30_000 };
/**
 * The API server refuses requests for a moment after a Role is created and while it starts. A Secret that was refused this often
 * in sequence, in half a minute or more, is not for this router any more.
 */
const REFUSALS = 8;
/** While the manager does not run, nothing announces changes. So each Secret is also read at this interval ... */
const REREAD_MS = 300_000;
/** ... but all of them together at most once in this time. */
const REREAD_PACE_MS = 1_000;

/**
 * Reads each needed Secret by name: when it is needed first, and again when the manager publishes a new version of its group
 * (`../ingress/secret-versions.ts`). There is no watch, so the cost depends on the changes and not on the number of Secrets.
 */
export class SecretReads implements SecretSource {
  readonly #client: KubeClient;
  readonly #onSecret: (key: string, secret: Secret | undefined) => void;
  readonly #random: Random;
  readonly #log: Logger;
  readonly #reads = new Map<string, Read>();
  readonly #groups = new Map<string, Set<string>>();
  readonly #queue: Controller;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #versions: SecretVersions = {};

  constructor({ client, onSecret, clock, random, log }: SecretSourceOptions) {
    this.#client = client;
    this.#onSecret = onSecret;
    this.#random = random;
    this.#log = log;
    this.#queue = new Controller({
      name: 'router-secrets',
      reconcile: (key, signal) => this.#read(key, signal),
      concurrency: CONCURRENCY,
      graceMs: 0,
      clock,
      log,
    });
    this.#running = this.#queue.run(this.#stop.signal);
  }

  follow(key: string): void {
    if (this.#reads.has(key)) return;
    const { promise: answered, resolve: answer } = withResolver();
    this.#reads.set(key, { failures: 0, refusals: 0, answered, answer });
    const group = groupOf(key);
    this.#groups.set(group, (this.#groups.get(group) ?? new Set()).add(key));
    this.#queue.enqueue(key);
  }

  unfollow(key: string): void {
    this.#reads.get(key)?.answer();
    this.#reads.delete(key);
    this.#groups.get(groupOf(key))?.delete(key);
  }

  follows(key: string): boolean {
    return this.#reads.has(key);
  }

  /** The manager has published versions. Reads the Secrets of groups whose version is another one than before. */
  update(versions: SecretVersions): void {
    const groups = changedGroups(this.#versions, versions);
    this.#versions = versions;
    for (const group of groups) {
      for (const key of this.#groups.get(group) ?? []) {
        const read = this.#reads.get(key)!;
        // Access may have been granted, so the next attempts are made soon.
        read.failures = 0;
        this.#queue.enqueue(key);
      }
    }
  }

  async answered(): Promise<void> {
    await Promise.all([...this.#reads.values()].map(({ answered }) => answered));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    for (const { answer } of this.#reads.values()) answer();
    this.#reads.clear();
  }

  /** Never rejects, except when the router ends. */
  async #read(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const read = this.#reads.get(key);
    if (read === undefined) return undefined;
    const { namespace, name } = splitKey(key);
    // A list by name returns the Secret or nothing, and the Role of the router allows it.
    const select = { namespace, fieldSelector: `metadata.name=${name}` };
    try {
      const { items } = await this.#client.list(SECRETS, { ...select, signal });
      this.#report(key, read, items[0]);
      return { requeueAfter: this.#rereadMs() };
    } catch (error) {
      if (signal.aborted) throw error;
      return { requeueAfter: this.#failed(key, read, error) };
    }
  }

  #report(key: string, read: Read, secret: Secret | undefined): void {
    read.failures = 0;
    read.refusals = 0;
    // It may have been unfollowed during the request.
    if (this.#reads.get(key) === read) this.#onSecret(key, secret);
    read.answer();
  }

  /** Returns the time until the next attempt. While the API server is unreachable, the router keeps the Secret. */
  #failed(key: string, read: Read, error: unknown): number {
    const isRefused = isForbidden(error);
    read.refusals = isRefused ? read.refusals + 1 : 0;
    const isNews = read.refusals === REFUSALS;
    this.#log[isNews ? 'warn' : 'debug'](
      { secret: key, err: error },
      isRefused
        ? 'no permission to read a Secret; retrying. The manager grants it by a Role in the namespace of the Secret: see the events of the Ingresses there'
        : 'cannot read a Secret; retrying',
    );
    if (isNews && this.#reads.get(key) === read) this.#onSecret(key, undefined);
    return backoffDelay(read.failures++, BACKOFF, this.#random);
  }

  /** Spread, so that Secrets that were read at the same time are not read again at the same time. */
  #rereadMs(): number {
    const ms = Math.max(REREAD_MS, this.#reads.size * REREAD_PACE_MS);
    return ms * (1 + this.#random() / 2);
  }
}

function withResolver(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
