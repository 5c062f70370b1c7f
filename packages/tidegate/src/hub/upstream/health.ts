import type { Clock, Credential, CredentialSource, Logger, Random } from '@tidegate/kube';
import type { Dispatcher } from 'undici';
import { NotReadyError, type ProbeOutcome, probe } from './probe.ts';
import type { UpstreamServer } from './server.ts';

/** All times in milliseconds. */
export interface HealthTimings {
  /** A healthy server is probed if nothing was received from it for this long. */
  intervalMs: number;
  /**
   * A server that sends data all the time is probed at least this often. It must be less than the lifetime of
   * an idle connection, so that there is an existing connection to probe. Data on one connection does not
   * show that the others work.
   */
  maxIntervalMs: number;
  /** An unhealthy server is probed at this interval. */
  downIntervalMs: number;
  /** The minimum timeout of a probe. The actual timeout is four times the recent average response time. */
  timeoutMs: number;
  /** The maximum timeout of a probe. */
  maxTimeoutMs: number;
  /** How long a server that accepts a TLS connection may take to answer. */
  hungMs: number;
}

/** A link that silently drops all packets is detected after the interval and two timeouts: ten seconds. */
export const HEALTH_TIMINGS: HealthTimings = {
  intervalMs: 5_000,
  maxIntervalMs: 25_000,
  downIntervalMs: 2_000,
  timeoutMs: 2_500,
  maxTimeoutMs: 10_000,
  hungMs: 15_000,
};

export interface HealthOptions {
  /** The credentials of the node. */
  credentials: CredentialSource;
  userAgent: string;
  clock: Clock;
  random: Random;
  log: Logger;
  timings: HealthTimings;
  /** Called when the server becomes healthy or unhealthy. */
  onChange: () => void;
}

/**
 * The embedded API server is not ready while its disk is full, and refuses writes with a clear error. It still serves
 * reads, so it is not unreachable. Other API servers ignore a check that they do not have.
 */
const PROBE_PATH = '/readyz?exclude=store-writes';
/** The minimum time between two probes, however many requests fail. */
const MIN_GAP_MS = 500;

/**
 * Probes one server and marks it as healthy or unhealthy. When the server becomes unreachable, the monitor
 * closes all connections to it, so that pending requests and watches fail immediately. TCP alone would take
 * minutes to detect that.
 *
 * Probes are rare while data arrives, to save bandwidth. A failed request causes a probe at once
 * (`onSuspicion`).
 */
export class HealthMonitor {
  readonly #server: UpstreamServer;
  readonly #options: HealthOptions;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** Whether a request has failed since the last probe began. */
  #suspected = false;
  /** Monotonic time of the last probe. */
  #checkedAt = Number.NEGATIVE_INFINITY;
  /** The average response time, in milliseconds. */
  #usualMs = 0;
  #wake: () => void = () => {};

  constructor(server: UpstreamServer, options: HealthOptions) {
    this.#server = server;
    this.#options = options;
    this.#log = options.log.child({ server: server.url });
    server.onSuspicion = (error) => this.#suspect(error);
  }

  /** Resolves when the first probe has ended, whatever its result. */
  async start(): Promise<void> {
    const first = this.#check(this.#timeoutMs());
    this.#running = first.then(() => this.#run());
    await first;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#rest();
      // No request waits for an unhealthy server, so its probe gets the longest timeout.
      const timeoutMs = this.#server.healthy ? this.#timeoutMs() : this.#options.timings.maxTimeoutMs;
      await this.#check(timeoutMs);
    }
  }

  #suspect(error: unknown): void {
    if (!this.#server.healthy) return;
    this.#log.debug({ err: error }, 'request failed; probing the API server');
    this.#suspected = true;
    this.#wake();
  }

  /** Waits until the next probe is due. A failed request can make it due earlier. */
  async #rest(): Promise<void> {
    const { clock, random } = this.#options;
    const jitter = 0.9 + 0.2 * random();
    for (;;) {
      const ms = this.#dueAt(jitter) - clock.monotonic();
      if (ms <= 0 || this.#stop.signal.aborted) return;
      await new Promise<void>((resolve) => {
        const cancel = clock.after(ms, resolve);
        this.#wake = () => {
          cancel();
          resolve();
        };
      });
    }
  }

  /** The time of the next probe. The jitter keeps the hubs of a site from sending their probes at the same time. */
  #dueAt(jitter: number): number {
    const { intervalMs, maxIntervalMs, downIntervalMs } = this.#options.timings;
    if (!this.#server.healthy) return this.#checkedAt + downIntervalMs * jitter;
    if (this.#suspected) return this.#checkedAt + MIN_GAP_MS;
    const idleSince = Math.max(this.#checkedAt, this.#server.receivedAt);
    return Math.min(idleSince + intervalMs * jitter, this.#checkedAt + maxIntervalMs);
  }

  #timeoutMs(): number {
    const { timeoutMs, maxTimeoutMs } = this.#options.timings;
    return Math.min(Math.max(timeoutMs, 4 * this.#usualMs), maxTimeoutMs);
  }

  async #check(timeoutMs: number): Promise<void> {
    const { clock, timings } = this.#options;
    const { signal } = this.#stop;
    const suspected = this.#suspected || !this.#server.healthy;
    this.#suspected = false;
    const target = {
      askOverOld: (s: AbortSignal) => this.#askOverOld(s),
      askOverNew: (s: AbortSignal, connected: () => void) => this.#askOverNew(s, connected),
      receivedAt: () => this.#server.receivedAt,
    };
    try {
      const outcome = await probe(target, { timeoutMs, hungMs: timings.hungMs }, suspected, clock, signal);
      this.#checkedAt = clock.monotonic();
      if (!signal.aborted) this.#apply(outcome);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Applies the result of a probe. */
  #apply(outcome: ProbeOutcome): void {
    const wasHealthy = this.#server.healthy;
    if (outcome.health === 'dead') {
      this.#server.mark(false, outcome.error);
      if (!wasHealthy) return;
      this.#log.warn({ err: outcome.error }, 'the API server is unreachable');
      this.#breakConnections();
      this.#options.onChange();
      return;
    }
    this.#server.received(0);
    this.#server.mark(true);
    if (!wasHealthy) {
      this.#log.info({}, 'the API server is reachable');
      this.#options.onChange();
    }
    if (outcome.health === 'stale') {
      this.#log.warn(
        {},
        'existing connections to the API server do not work, but new ones do; closing the existing ones',
      );
      this.#breakConnections();
    }
  }

  /** Does not wait until the sockets are closed, so that the next probe is not delayed. */
  #breakConnections(): void {
    this.#server.breakConnections().catch((error: unknown) => {
      this.#log.warn({ err: error }, 'cannot close connections to the API server');
    });
  }

  async #askOverOld(signal: AbortSignal): Promise<void> {
    const credential = await this.#credential();
    await this.#ask(this.#server.connections(credential), credential, signal);
  }

  async #askOverNew(signal: AbortSignal, connected: () => void): Promise<void> {
    const credential = await this.#credential();
    const connections = this.#server.newConnections();
    // Aborting a request that is still waiting for its connection has no effect in undici. Closing the
    // connections does.
    const end = (): void => void connections.close().catch(() => {});
    signal.addEventListener('abort', end, { once: true });
    try {
      await this.#ask(connections.for(credential).once('connect', connected), credential, signal);
    } finally {
      signal.removeEventListener('abort', end);
      end();
    }
  }

  async #ask(dispatcher: Dispatcher, { authorization }: Credential, signal: AbortSignal): Promise<void> {
    const { clock, userAgent } = this.#options;
    const startedAt = clock.monotonic();
    const { statusCode, body } = await dispatcher.request({
      origin: this.#server.origin,
      path: `${this.#server.prefix}${PROBE_PATH}`,
      method: 'GET',
      headers: {
        accept: '*/*',
        'user-agent': userAgent,
        ...(authorization === undefined ? {} : { authorization }),
      },
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    const text = await body.text();
    // Any status below 500, for example 401, shows that the server works.
    if (statusCode >= 500) throw new NotReadyError(`/readyz: ${statusCode} ${text.trim().slice(0, 200)}`);
    const tookMs = clock.monotonic() - startedAt;
    this.#usualMs = this.#usualMs === 0 ? tookMs : 0.8 * this.#usualMs + 0.2 * tookMs;
  }

  /**
   * A probe does not need credentials. A problem with the credentials of the node must not make a server look
   * unhealthy.
   */
  async #credential(): Promise<Credential> {
    try {
      return await this.#options.credentials.current();
    } catch (error) {
      this.#log.debug({ err: error }, 'no credentials of the node; probing without');
      return {};
    }
  }
}
