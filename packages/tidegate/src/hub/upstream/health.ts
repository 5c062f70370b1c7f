import type { Clock, Credential, CredentialSource, Logger, Random } from '@tidegate/kube';
import type { Dispatcher } from 'undici';
import { NotReadyError, type ProbeOutcome, probe } from './probe.ts';
import type { UpstreamServer } from './server.ts';

export interface HealthTimings {
  /** A healthy server is asked when nothing was heard of it for this long. */
  intervalMs: number;
  /** One that is heard all the time is asked this often: less than the life of an idle connection, so that there is an
   * old one to ask over. What is heard over a new one says nothing of the others. */
  longestIntervalMs: number;
  downIntervalMs: number;
  /** How long an answer may take, at least: it is four times as long as answers took lately. */
  patienceMs: number;
  longestPatienceMs: number;
  hungMs: number;
}

/** A link that silently swallows everything is noticed after an interval and twice the patience: ten seconds. */
export const HEALTH_TIMINGS: HealthTimings = {
  intervalMs: 5_000,
  longestIntervalMs: 25_000,
  downIntervalMs: 2_000,
  patienceMs: 2_500,
  longestPatienceMs: 10_000,
  hungMs: 15_000,
};

export interface HealthOptions {
  credentials: CredentialSource;
  userAgent: string;
  clock: Clock;
  random: Random;
  log: Logger;
  timings: HealthTimings;
  /** It became healthy, or ceased to be. */
  onChange: () => void;
}

/** Requests that fail again and again do not cause more probes than this. */
const SHORTEST_GAP_MS = 500;

/** Watches over one server, and breaks its connections when it is gone: whoever waits on them shall know at once. */
export class HealthMonitor {
  readonly #server: UpstreamServer;
  readonly #options: HealthOptions;
  readonly #log: Logger;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  /** A request failed since the last probe began. */
  #doubted = false;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #usualMs = 0;
  #wake: () => void = () => {};

  constructor(server: UpstreamServer, options: HealthOptions) {
    this.#server = server;
    this.#options = options;
    this.#log = options.log.child({ server: server.url });
    server.onSuspicion = (error) => this.#suspect(error);
  }

  /** Resolves when the server was asked for the first time, however it answered. */
  async start(): Promise<void> {
    const first = this.#check(this.#patienceMs());
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
      // Nobody waits for one that is down, so it may have all the time it needs.
      const patienceMs = this.#server.healthy ? this.#patienceMs() : this.#options.timings.longestPatienceMs;
      await this.#check(patienceMs);
    }
  }

  #suspect(error: unknown): void {
    if (!this.#server.healthy) return;
    this.#log.debug({ err: error }, 'a request failed; looking whether the API server is there');
    this.#doubted = true;
    this.#wake();
  }

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

  #dueAt(jitter: number): number {
    const { intervalMs, longestIntervalMs, downIntervalMs } = this.#options.timings;
    if (!this.#server.healthy) return this.#checkedAt + downIntervalMs * jitter;
    if (this.#doubted) return this.#checkedAt + SHORTEST_GAP_MS;
    const quietSince = Math.max(this.#checkedAt, this.#server.heardAt);
    return Math.min(quietSince + intervalMs * jitter, this.#checkedAt + longestIntervalMs);
  }

  #patienceMs(): number {
    const { patienceMs, longestPatienceMs } = this.#options.timings;
    return Math.min(Math.max(patienceMs, 4 * this.#usualMs), longestPatienceMs);
  }

  async #check(patienceMs: number): Promise<void> {
    const { clock, timings } = this.#options;
    const { signal } = this.#stop;
    const doubted = this.#doubted || !this.#server.healthy;
    this.#doubted = false;
    const target = {
      askOverOld: (s: AbortSignal) => this.#askOverOld(s),
      askOverNew: (s: AbortSignal, connected: () => void) => this.#askOverNew(s, connected),
      heardAt: () => this.#server.heardAt,
    };
    try {
      const outcome = await probe(target, { patienceMs, hungMs: timings.hungMs }, doubted, clock, signal);
      this.#checkedAt = clock.monotonic();
      if (!signal.aborted) this.#judge(outcome);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #judge(outcome: ProbeOutcome): void {
    const wasHealthy = this.#server.healthy;
    if (outcome.health === 'dead') {
      this.#server.mark(false, outcome.error);
      if (!wasHealthy) return;
      this.#log.warn({ err: outcome.error }, 'the API server is out of reach');
      this.#breakConnections();
      this.#options.onChange();
      return;
    }
    this.#server.heard(0);
    this.#server.mark(true);
    if (!wasHealthy) {
      this.#log.info({}, 'the API server is there');
      this.#options.onChange();
    }
    if (outcome.health === 'stale') {
      this.#log.warn({}, 'open connections to the API server are dead, new ones work; breaking the old ones');
      this.#breakConnections();
    }
  }

  /** How long the sockets take to close is not waited for: the next look must not hang on it. */
  #breakConnections(): void {
    this.#server.breakConnections().catch((error: unknown) => {
      this.#log.warn({ err: error }, 'connections could not be broken');
    });
  }

  async #askOverOld(signal: AbortSignal): Promise<void> {
    const credential = await this.#credential();
    await this.#ask(this.#server.connections(credential), credential, signal);
  }

  async #askOverNew(signal: AbortSignal, connected: () => void): Promise<void> {
    const credential = await this.#credential();
    const connections = this.#server.newConnections();
    // A request that still waits for its connection does not hear of an abort.
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
      path: `${this.#server.prefix}/readyz`,
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
    // That it does not know us is an answer too.
    if (statusCode >= 500) throw new NotReadyError(`/readyz: ${statusCode} ${text.trim().slice(0, 200)}`);
    const tookMs = clock.monotonic() - startedAt;
    this.#usualMs = this.#usualMs === 0 ? tookMs : 0.8 * this.#usualMs + 0.2 * tookMs;
  }

  /** Whether the server is there can be asked by anybody: health does not hang on the state of our credentials. */
  async #credential(): Promise<Credential> {
    try {
      return await this.#options.credentials.current();
    } catch (error) {
      this.#log.debug({ err: error }, 'no credentials of the node; asking without');
      return {};
    }
  }
}
