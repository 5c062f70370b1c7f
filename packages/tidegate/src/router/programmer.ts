import { backoffDelay, type Clock, type Logger, type Metrics, type Random } from '@tidegate/kube';
import { CapacityError, type Driver, type Listening, NeedsFullState } from '../dataplane/driver.ts';
import type { Compiler } from '../ingress/compile/index.ts';
import type { Changes, Delta } from '../ingress/model.ts';
import type { Content, ExternalNames } from './external-names.ts';

export interface ProgrammerOptions {
  compiler: Compiler;
  driver: Driver;
  names: ExternalNames;
  /** Which Secrets are needed from now on, or no more. */
  onSecrets(changes: Changes<string, string>): void;
  /** Called before all that has come is worked out; what it returns, once all of that is served. */
  checkpoint(): () => void;
  /** What is served from now on; from 0, all that is. */
  onServed(delta: Delta): void;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics;
}

/** What one object brings is often followed by more of the same; endpoints wait for next to nothing. */
const WINDOW_MS = { endpoints: 1, routes: 5 } as const;
const BACKOFF = { baseMs: 500, maxMs: 30_000 };
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Takes what the compiler has worked out to the driver, one delta after the other, in numbers of its own. A driver that
 * has lost its place, or has failed, is sent everything.
 */
export class Programmer {
  readonly #options: ProgrammerOptions;
  readonly #seconds;
  readonly #failed;
  readonly #changed;
  #generation = 0;
  /** The driver does not have what the compiler told last. */
  #whole = true;
  #started = false;
  #ended = false;
  #turn: Promise<void> | undefined;
  #timer: { at: number; cancel: () => void } | undefined;
  #waiting: keyof typeof WINDOW_MS | undefined;
  #failures = 0;
  #notBefore = 0;
  #trouble: string | undefined;

  constructor(options: ProgrammerOptions) {
    this.#options = options;
    const { metrics } = options;
    this.#seconds = metrics.histogram('tidegate_router_apply_seconds', {
      help: 'How long it took until every worker went by a change.',
      labels: ['scope'],
      buckets: SECONDS,
    });
    this.#failed = metrics.counter('tidegate_router_apply_failures_total', {
      help: 'Changes that the data plane did not take.',
      labels: ['reason'],
    });
    const generation = metrics.gauge('tidegate_router_generation', {
      help: 'The number of the last change that is served.',
    });
    metrics.onScrape(() => generation.set({}, this.#generation));
    this.#changed = metrics.gauge('tidegate_router_last_change_timestamp_seconds', {
      help: 'When the data plane last took a change, or everything.',
    });
  }

  /** Why the driver does not serve the latest, if so. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Has the driver listen, with what was served before the start, until more is known. */
  async listen(before?: Delta): Promise<Listening> {
    const { driver, log } = this.#options;
    if (before === undefined) return driver.start();
    const first = { ...before, from: 0, to: ++this.#generation };
    try {
      const listening = await driver.start(first);
      this.#served(first);
      log.info({ hosts: first.hosts.set.length }, 'serving the routes of last time until more is known');
      return listening;
    } catch (error) {
      if (!(error instanceof CapacityError)) throw error;
      log.warn({ err: error }, 'the routes of last time can not be served');
      return driver.start();
    }
  }

  /** Works out what is needed besides, such as Secrets, and sends nothing yet. */
  prepare(): void {
    this.#flush();
  }

  /** From now on changes are sent. Resolves when the first were tried, whether they were taken or not. */
  async start(): Promise<void> {
    this.#started = true;
    await this.#take();
  }

  /** Something has changed that the compiler or the names know of. */
  touch(what: keyof typeof WINDOW_MS): void {
    if (!this.#started || this.#ended) return;
    if (this.#turn === undefined) this.#schedule(WINDOW_MS[what]);
    else if (this.#waiting !== 'endpoints') this.#waiting = what;
  }

  /** Resolves when nothing is on its way any more. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#timer?.cancel();
    await this.#turn;
  }

  #schedule(ms: number): void {
    const { clock } = this.#options;
    const now = clock.monotonic();
    const at = Math.max(now + ms, this.#notBefore);
    if (this.#timer !== undefined && this.#timer.at <= at) return;
    this.#timer?.cancel();
    const cancel = clock.after(at - now, () => {
      this.#timer = undefined;
      void this.#take();
    });
    this.#timer = { at, cancel };
  }

  async #take(): Promise<void> {
    this.#turn = this.#work();
    await this.#turn;
    this.#turn = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (this.#ended) return;
    if (this.#whole) this.#schedule(0);
    else if (waiting !== undefined) this.#schedule(WINDOW_MS[waiting]);
  }

  /** Never rejects: what failed is sent again with everything else. */
  async #work(): Promise<void> {
    const { checkpoint, log } = this.#options;
    try {
      const served = checkpoint();
      const changes = this.#flush();
      if (this.#whole) await this.#applyWhole();
      else if (changes !== undefined) await this.#applyChanges(changes);
      this.#succeeded();
      served();
    } catch (error) {
      this.#failures++;
      this.#failing(error);
      log.error(
        { err: error, failures: this.#failures },
        'the data plane did not take the routes; it goes on with what it had',
      );
    }
  }

  #flush(): Content | undefined {
    const { compiler, names, onSecrets } = this.#options;
    const { delta, secrets } = compiler.flush();
    onSecrets(secrets);
    return names.translate(delta);
  }

  async #applyChanges(changes: Content): Promise<void> {
    try {
      await this.#apply({ ...changes, from: this.#generation, to: this.#generation + 1 });
    } catch (error) {
      if (!(error instanceof NeedsFullState)) throw error;
      this.#options.log.info({ reason: error.message }, 'the data plane is sent everything');
      await this.#applyWhole();
    }
  }

  async #applyWhole(): Promise<void> {
    const { compiler, names } = this.#options;
    await this.#apply({ ...names.translateAll(compiler.snapshot()), from: 0 });
  }

  async #apply(delta: Delta): Promise<void> {
    const { driver, clock } = this.#options;
    const numbered = { ...delta, to: this.#generation + 1 };
    const startedAt = clock.monotonic();
    // Also one that failed may have got through to some worker: no two deltas ever have the same number.
    this.#generation = numbered.to;
    await driver.apply(numbered);
    this.#seconds.observe({ scope: scopeOf(numbered) }, (clock.monotonic() - startedAt) / 1000);
    this.#served(numbered);
  }

  #served(delta: Delta): void {
    const { clock, onServed } = this.#options;
    this.#changed.set({}, clock.now() / 1000);
    onServed(delta);
  }

  #succeeded(): void {
    this.#whole = false;
    this.#failures = 0;
    this.#notBefore = 0;
    this.#trouble = undefined;
  }

  #failing(error: unknown): void {
    const { clock, random } = this.#options;
    this.#whole = true;
    this.#trouble = error instanceof Error ? error.message : String(error);
    this.#notBefore = clock.monotonic() + backoffDelay(this.#failures - 1, BACKOFF, random);
    this.#failed.inc({ reason: error instanceof CapacityError ? 'capacity' : 'error' });
  }
}

function scopeOf({ from, hosts, certificates }: Delta): string {
  if (from === 0) return 'all';
  const isEmpty = ({ set, remove }: Changes<unknown, unknown>): boolean => set.length + remove.length === 0;
  return isEmpty(hosts) && isEmpty(certificates) ? 'endpoints' : 'routes';
}
