import { setMaxListeners } from 'node:events';
import { aborted, type Clock, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { Metrics } from '../base/metrics.ts';
import type { KubeObject } from '../base/object.ts';
import { keyOf } from '../client/resource.ts';
import type { Informer } from '../informer/informer.ts';
import { type QueueOptions, WorkQueue } from '../queue/queue.ts';
import { ControllerMetrics } from './controller-metrics.ts';

/** The result of a successful reconcile. Returning nothing means: done until something changes. */
export interface ReconcileResult {
  /** Milliseconds until the key is reconciled again if nothing changes before. */
  requeueAfter?: number;
}

/**
 * Brings the object with this key to its desired state. It receives only the key, not the event: it must work from
 * the current state, so that a missed or repeated event makes no difference (level-triggered).
 */
export type Reconcile = (
  key: string,
  signal: AbortSignal,
) => Promise<ReconcileResult | undefined> | Promise<void>;

/**
 * Throw it from a reconcile function if a retry is pointless until something changes, for example for an invalid
 * spec. The key is not retried with backoff; the next event reconciles it again.
 */
export class TerminalError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TerminalError';
  }
}

/** Options of {@link Controller}. */
export interface ControllerOptions {
  /** Identifies the controller in metrics and logs. */
  name: string;
  reconcile: Reconcile;
  /**
   * How many keys are reconciled at the same time. Default: 1. A single key is never reconciled twice at the same
   * time.
   */
  concurrency?: number;
  /** How long running reconciles may take to finish after `run` was aborted. Default: 10 seconds. */
  graceMs?: number;
  /** Backoff and rate limit of retries, see {@link QueueOptions}. */
  queue?: Omit<QueueOptions, 'name' | 'clock' | 'metrics'>;
  clock?: Clock;
  metrics?: Metrics;
  log?: Logger;
}

type Outcome =
  | { type: 'success' }
  | { type: 'requeueAfter'; ms: number }
  | { type: 'error'; error: unknown }
  | { type: 'terminal'; error: TerminalError };

/**
 * Connects informers to a reconcile function through a work queue.
 *
 * @example
 * const controller = new Controller({
 *   name: 'labels',
 *   reconcile: async (key) => {
 *     const node = nodes.cache.get(key);
 *     if (node !== undefined) await applyLabels(node);
 *   },
 * }).watch(nodes);
 * await controller.run(signal);
 */
export class Controller {
  readonly #reconcile: Reconcile;
  readonly #concurrency: number;
  readonly #graceMs: number;
  readonly #queue: WorkQueue;
  readonly #clock: Clock;
  readonly #metrics: ControllerMetrics;
  readonly #log: Logger;
  readonly #synced: (() => Promise<void>)[] = [];
  readonly #detach: (() => void)[] = [];

  constructor(options: ControllerOptions) {
    const metrics = options.metrics ?? new Metrics();
    this.#reconcile = options.reconcile;
    this.#concurrency = options.concurrency ?? 1;
    this.#graceMs = options.graceMs ?? 10_000;
    this.#clock = options.clock ?? systemClock;
    this.#queue = new WorkQueue({ ...options.queue, name: options.name, clock: this.#clock, metrics });
    this.#metrics = new ControllerMetrics(metrics, options.name, this.#concurrency);
    this.#log = (options.log ?? silentLogger).child({ controller: options.name });
  }

  /**
   * Reconciles the keys that `keysOf` returns for an object, by default its own key, whenever the object changes.
   * After an update, the keys of the old and the new state are reconciled: an object that moved still concerns the
   * place it left. Updates for which `matters` returns false are ignored.
   */
  watch<T extends KubeObject>(
    informer: Informer<T>,
    keysOf: (object: T) => Iterable<string> = (object) => [keyOf(object)],
    matters: (old: T, object: T) => boolean = () => true,
  ): this {
    // Deduplicated here: an idle worker takes the first key immediately, so an equal second key would be processed
    // again.
    const enqueue = (...objects: T[]): void => {
      const keys = new Set(objects.flatMap((object) => [...keysOf(object)]));
      for (const key of keys) this.#queue.add(key);
    };
    const detach = informer.addHandler({
      onAdd: (object) => enqueue(object),
      onUpdate: (old, object) => {
        if (matters(old, object)) enqueue(old, object);
      },
      onDelete: (object) => enqueue(object),
    });
    this.#detach.push(detach);
    this.#synced.push(() => informer.synced);
    return this;
  }

  /** Reconciles a key for a reason that no informer sees. */
  enqueue(key: string): void {
    this.#queue.add(key);
  }

  /**
   * Waits until all caches have synced, then reconciles until the signal is aborted and running reconciles have
   * finished. Call it once.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stopped = aborted(signal);
    // With an incomplete cache, a reconcile could take an object that was not listed yet for one that does not exist.
    await Promise.race([stopped, Promise.all(this.#synced.map((synced) => synced()))]);
    const work = new AbortController();
    // Every request of every worker listens to it.
    setMaxListeners(0, work.signal);
    const workers = signal.aborted ? 0 : this.#concurrency;
    const working = Array.from({ length: workers }, () => this.#work(work.signal));
    this.#log.info({ workers }, 'controller started');
    await stopped;
    // No new keys from now on. Running reconciles may finish, so that they do not leave half of their writes behind.
    for (const detach of this.#detach) detach();
    this.#queue.shutDown();
    const cancelGrace = this.#clock.after(this.#graceMs, () => work.abort(signal.reason));
    await Promise.all(working);
    cancelGrace();
    this.#log.info({}, 'controller stopped');
  }

  async #work(signal: AbortSignal): Promise<void> {
    for (let key = await this.#queue.next(); key !== undefined; key = await this.#queue.next()) {
      const startedAt = this.#clock.monotonic();
      this.#metrics.started();
      const outcome = await this.#attempt(key, signal);
      this.#metrics.finished((this.#clock.monotonic() - startedAt) / 1000);
      this.#conclude(key, outcome);
      this.#queue.done(key);
    }
  }

  async #attempt(key: string, signal: AbortSignal): Promise<Outcome> {
    try {
      const result = await this.#reconcile(key, signal);
      const ms = result?.requeueAfter;
      return ms === undefined ? { type: 'success' } : { type: 'requeueAfter', ms };
    } catch (error) {
      return error instanceof TerminalError ? { type: 'terminal', error } : { type: 'error', error };
    }
  }

  /** The consequences of the four ways in which a reconcile can end. Success resets the backoff of the key. */
  #conclude(key: string, outcome: Outcome): void {
    switch (outcome.type) {
      case 'success':
        this.#queue.forget(key);
        this.#metrics.result('success');
        this.#log.debug({ key }, 'reconciled');
        break;
      case 'requeueAfter':
        this.#queue.forget(key);
        this.#queue.addAfter(key, outcome.ms);
        this.#metrics.result('requeue_after');
        this.#log.debug({ key, requeueAfterMs: outcome.ms }, 'reconciled; requeued');
        break;
      case 'error':
        this.#queue.addRateLimited(key);
        this.#metrics.error({ terminal: false });
        this.#log.error({ key, err: outcome.error, failures: this.#queue.failures(key) }, 'reconcile failed');
        break;
      case 'terminal':
        this.#queue.forget(key);
        this.#metrics.error({ terminal: true });
        this.#log.error({ key, err: outcome.error }, 'reconcile failed; not retried until something changes');
        break;
    }
  }
}
