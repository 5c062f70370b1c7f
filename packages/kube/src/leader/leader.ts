import { type Clock, childController, type Random, sleep, systemClock } from '../base/clock.ts';
import { type Logger, silentLogger } from '../base/log.ts';
import { type GaugeMetric, Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../client/client.ts';
import { LeaseLock } from './lease-lock.ts';

/** Options of {@link LeaderElector}. All candidates must use the same durations. */
export interface LeaderOptions {
  namespace: string;
  /** The name of the Lease. */
  name: string;
  /** Unique for every candidate, for example the name of its pod. */
  identity: string;
  /** How long the other candidates wait after the last renewal before they take over. Default: 15 seconds. */
  leaseDurationMs?: number;
  /**
   * How long a leader tries to renew before it stops leading. Shorter than the lease duration, so that it has stopped
   * before another candidate takes over. Default: 10 seconds.
   */
  renewDeadlineMs?: number;
  /** How often a leader renews and a candidate tries to acquire. Default: 2 seconds. */
  retryPeriodMs?: number;
  clock?: Clock;
  random?: Random;
  metrics?: Metrics;
  log?: Logger;
}

/** The lease could not be renewed in time: another candidate may lead now. Most programs should exit. */
export class LeadershipLostError extends Error {
  constructor(lease: string, options?: ErrorOptions) {
    super(`lost the lease ${lease}`, options);
    this.name = 'LeadershipLostError';
  }
}

/** Candidates wait up to this much longer, so that they do not all write to the Lease at the same moment. */
const JITTER = 1.2;

/**
 * Leader election with a Lease: of all candidates that use the same Lease, at most one leads at a time.
 *
 * The holder writes its name and a renew time into the Lease every retry period. A candidate takes over when it has
 * not seen the Lease change for the lease duration; two candidates that try at once are separated by the
 * resourceVersion of their update. A leader that cannot renew stops after the renew deadline, which is shorter than
 * the lease duration, and so has stopped before any candidate takes over. The same rules, names and defaults as in
 * client-go, so both can compete for one Lease.
 *
 * @example
 * const elector = new LeaderElector(client, { namespace: 'default', name: 'shop-controller', identity: hostname() });
 * await elector.run(signal, (leading) => controller.run(leading));
 */
export class LeaderElector {
  readonly #lock: LeaseLock;
  readonly #lease: string;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #status: GaugeMetric;
  readonly #name: string;
  readonly #log: Logger;
  #renewedAt = 0;

  constructor(client: KubeClient, options: LeaderOptions) {
    const { leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000 } = options;
    if (!(leaseDurationMs > renewDeadlineMs && renewDeadlineMs > retryPeriodMs * JITTER)) {
      throw new RangeError('leaseDurationMs must exceed renewDeadlineMs, and that 1.2 times retryPeriodMs');
    }
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    this.#renewDeadlineMs = renewDeadlineMs;
    this.#retryPeriodMs = retryPeriodMs;
    this.#name = options.name;
    this.#lease = `${options.namespace}/${options.name}`;
    this.#lock = new LeaseLock(client, { ...options, leaseDurationMs, clock: this.#clock });
    this.#log = (options.log ?? silentLogger).child({ lease: this.#lease, identity: options.identity });
    this.#status = (options.metrics ?? new Metrics()).gauge('leader_election_master_status', {
      help: '1 if this process is the leader, otherwise 0.',
      labels: ['name'],
    });
    this.#status.set({ name: this.#name }, 0);
  }

  /** The identity of the current leader, as last observed. */
  get leader(): string | undefined {
    return this.#lock.holder;
  }

  /**
   * Waits to become the leader, then runs `lead`. The signal of `lead` is aborted when leadership is lost or `signal`
   * is aborted. The lease is released after `lead` has returned, not before. Throws LeadershipLostError, or the error
   * of `lead`.
   */
  async run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (!(await this.#acquire(signal))) return;
    this.#log.info({}, 'became leader');
    this.#status.set({ name: this.#name }, 1);
    const { controller, release } = childController(signal);
    const leading = lead(controller.signal).finally(() => controller.abort());
    // `leading` is awaited below, but may reject long before: without a handler Node would exit.
    leading.catch(() => {});
    try {
      await this.#renewUntilAborted(controller);
    } finally {
      await settled(leading);
      release();
      this.#status.set({ name: this.#name }, 0);
      this.#log.info({}, 'stopped leading');
      await this.#release();
    }
    await leading;
  }

  async #acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      try {
        if (await this.#tryLock(signal)) return true;
      } catch (error) {
        if (signal.aborted) break;
        this.#log.warn({ err: error }, 'the lease cannot be acquired; retrying');
      }
      const waitMs = this.#retryPeriodMs * (1 + this.#random() * JITTER);
      await sleep(this.#clock, waitMs, signal).catch(() => {}); // Rejects only when aborted; then the loop ends.
    }
    return false;
  }

  /**
   * A failed renewal is repeated until the renew deadline. Another holder in the Lease ends the leadership at once.
   */
  async #renewUntilAborted(leading: AbortController): Promise<void> {
    while (!leading.signal.aborted) {
      const wait = sleep(this.#clock, this.#retryPeriodMs, leading.signal);
      if (!(await settled(wait))) return;
      const outcome = await this.#renew(leading.signal);
      if (outcome === true || leading.signal.aborted || (outcome !== false && this.#leftMs() > 0)) continue;
      const lost = new LeadershipLostError(this.#lease, { cause: outcome === false ? undefined : outcome });
      leading.abort(lost);
      throw lost;
    }
  }

  /** True: renewed. False: another candidate holds it. Otherwise the error. */
  async #renew(signal: AbortSignal): Promise<unknown> {
    const { controller, release } = childController(signal);
    const expire = (): void => controller.abort(new Error('the renew deadline passed'));
    const cancel = this.#clock.after(this.#leftMs(), expire);
    try {
      return await this.#tryLock(controller.signal);
    } catch (error) {
      if (!signal.aborted) this.#log.warn({ err: error }, 'the lease could not be renewed');
      return error;
    } finally {
      cancel();
      release();
    }
  }

  /**
   * Tries once. The renewal counts from the moment when the request was sent: the server may have written it right
   * then, and the other candidates measure from what they see in the Lease.
   */
  async #tryLock(signal: AbortSignal): Promise<boolean> {
    const sentAt = this.#clock.monotonic();
    const locked = await this.#lock.tryAcquire(signal);
    if (locked) this.#renewedAt = sentAt;
    return locked;
  }

  #leftMs(): number {
    return this.#renewDeadlineMs - (this.#clock.monotonic() - this.#renewedAt);
  }

  async #release(): Promise<void> {
    try {
      await this.#lock.release({ deadlineMs: this.#renewDeadlineMs });
    } catch (error) {
      this.#log.warn(
        { err: error },
        'the lease could not be released; other candidates must wait until it expires',
      );
    }
  }
}

const settled = (promise: Promise<void>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  );
