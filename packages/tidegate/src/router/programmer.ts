import { backoffDelay, type Clock, type Logger, type Metrics, type Random } from '@tidegate/kube';
import { CapacityError, type Driver, type Listening, NeedsFullState } from '../dataplane/driver.ts';
import type { Compiler, Flushed, Outcome } from '../ingress/compile/index.ts';
import type { Changes, Delta } from '../ingress/model.ts';
import type { Content, ExternalNames } from './external-names.ts';

export interface ProgrammerOptions {
  compiler: Compiler;
  driver: Driver;
  names: ExternalNames;
  /** Called with the Secrets and ConfigMaps that are needed from now on, and those that are not needed any more. */
  onWanted(wanted: Pick<Flushed, 'secrets' | 'configMaps'>): void;
  /** Called with outcomes that have changed. */
  onOutcomes(changes: Changes<string, Outcome>): void;
  /** Called before pending changes are compiled. The function that it returns is called once they are served. */
  checkpoint(): () => void;
  /** Called with each delta that every worker has applied. */
  onServed(delta: Delta): void;
  clock: Clock;
  random: Random;
  log: Logger;
  metrics: Metrics;
  /** The label of metrics: the name of the L7Router. Several routers can share a process. */
  router?: string;
}

/**
 * How long a change waits for others, to be applied together. Routes often change in groups; endpoints are urgent.
 */
const WINDOW_MS = { endpoints: 1, routes: 5 } as const;
const BACKOFF = { baseMs: 500, maxMs: 30_000 };
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Applies the output of the compiler to the data plane, one delta after the other.
 *
 * Each delta has a generation: it leads from one number to the next. The numbers are the programmer's own, because it also
 * applies changes that the compiler does not know, such as new addresses of an ExternalName. `Driver.apply` resolves when
 * every worker has applied the generation; only then is it acknowledged (`onServed`, and the function of `checkpoint`).
 * After a failure, or if the data plane asks for it, the next delta is the full state (from 0).
 */
export class Programmer {
  readonly #options: ProgrammerOptions;
  readonly #labels: { router: string };
  readonly #seconds;
  readonly #failed;
  readonly #changed;
  readonly #forgetMetrics: () => void;
  /** The number of the last delta that was sent, applied or not. */
  #generation = 0;
  /** The data plane may lack changes that the compiler has already returned: the next delta is the full state. */
  #needsFullState = true;
  /** Changes before the start are only collected: `start` sends the full state. */
  #started = false;
  #ended = false;
  /** The delta in progress. There is never more than one. */
  #turn: Promise<void> | undefined;
  /** When the next delta is sent. An earlier request replaces a later one. */
  #timer: { at: number; cancel: () => void } | undefined;
  /** What has changed while a delta was in progress. Endpoints win, because their window is shorter. */
  #waiting: keyof typeof WINDOW_MS | undefined;
  /** Failed attempts in a row. */
  #failures = 0;
  /** Back-off after a failure, in monotonic milliseconds. New changes do not shorten it. */
  #notBefore = 0;
  #trouble: string | undefined;

  constructor(options: ProgrammerOptions) {
    this.#options = options;
    const { metrics, router = '' } = options;
    this.#labels = { router };
    this.#seconds = metrics.histogram('tidegate_router_apply_seconds', {
      help: 'Time until every worker has applied a change, in seconds.',
      labels: ['router', 'scope'],
      buckets: SECONDS,
    });
    this.#failed = metrics.counter('tidegate_router_apply_failures_total', {
      help: 'Changes that the data plane failed to apply, by reason.',
      labels: ['reason', 'router'],
    });
    const generation = metrics.gauge('tidegate_router_generation', {
      help: 'The generation of the route table: the number of the last change sent to the data plane.',
      labels: ['router'],
    });
    this.#forgetMetrics = metrics.onScrape(() => generation.set(this.#labels, this.#generation));
    this.#changed = metrics.gauge('tidegate_router_last_change_timestamp_seconds', {
      help: 'Time of the last change that the data plane applied, in seconds since the epoch.',
      labels: ['router'],
    });
  }

  /** Why the last attempt to apply changes failed; undefined if it succeeded. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Starts the data plane with the table of the last run, which it serves until the first sync. */
  async listen(before?: Delta): Promise<Listening> {
    const { driver, log } = this.#options;
    if (before === undefined) return driver.start();
    const first = { ...before, from: 0, to: ++this.#generation };
    try {
      const listening = await driver.start(first);
      this.#served(first);
      log.info(
        { hosts: first.hosts.set.length },
        'serving the stored routes until the first sync with the API server',
      );
      return listening;
    } catch (error) {
      if (!(error instanceof CapacityError)) throw error;
      log.warn({ err: error }, 'cannot serve the stored routes; starting without routes');
      return driver.start();
    }
  }

  /** Compiles, to find out which Secrets and DNS names are needed. Applies nothing yet. */
  prepare(): void {
    this.#flush();
  }

  /** Starts to apply changes. Resolves after the first attempt, whether it succeeded or not. */
  async start(): Promise<void> {
    this.#started = true;
    await this.#take();
  }

  /** Schedules an update: the compiler or the DNS names have a change. */
  touch(what: keyof typeof WINDOW_MS): void {
    if (!this.#started || this.#ended) return;
    if (this.#turn === undefined) this.#schedule(WINDOW_MS[what]);
    else if (this.#waiting !== 'endpoints') this.#waiting = what;
  }

  /** Stops applying changes. Resolves when no delta is in progress. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#forgetMetrics();
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

  /** Sends one delta. Afterwards, schedules the next one if something is left to send. */
  async #take(): Promise<void> {
    this.#turn = this.#work();
    await this.#turn;
    this.#turn = undefined;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (this.#ended) return;
    if (this.#needsFullState) this.#schedule(0);
    else if (waiting !== undefined) this.#schedule(WINDOW_MS[waiting]);
  }

  /** Never rejects. After a failure, the next attempt sends the full state. */
  async #work(): Promise<void> {
    const { checkpoint, log } = this.#options;
    try {
      // Before the flush: what is acknowledged later must not be newer than what was compiled.
      const served = checkpoint();
      const changes = this.#flush();
      if (this.#needsFullState) await this.#applyFullState();
      else if (changes !== undefined) await this.#applyChanges(changes);
      this.#succeeded();
      served();
    } catch (error) {
      this.#failures++;
      this.#failing(error);
      log.error(
        { err: error, failures: this.#failures },
        'the data plane failed to apply the routes; it keeps serving the previous ones',
      );
    }
  }

  /** Compiles pending changes. Also starts and stops watches of Secrets and ConfigMaps, and lookups of DNS names. */
  #flush(): Content | undefined {
    const { compiler, names, onWanted, onOutcomes, log } = this.#options;
    const { delta, secrets, configMaps, outcomes } = compiler.flush();
    onWanted({ secrets, configMaps });
    onOutcomes(outcomes);
    // The manager does not read users, so only the router can report what is wrong with them.
    for (const { ingress, problems } of outcomes.set)
      for (const { about, reason, message } of problems)
        if (about === 'users') log.warn({ ingress, reason }, message);
    return names.translate(delta);
  }

  async #applyChanges(changes: Content): Promise<void> {
    try {
      await this.#apply({ ...changes, from: this.#generation, to: this.#generation + 1 });
    } catch (error) {
      if (!(error instanceof NeedsFullState)) throw error;
      this.#options.log.info({ reason: error.message }, 'sending the full state to the data plane');
      await this.#applyFullState();
    }
  }

  async #applyFullState(): Promise<void> {
    const { compiler, names } = this.#options;
    await this.#apply({ ...names.translateAll(compiler.snapshot()), from: 0 });
  }

  async #apply(delta: Delta): Promise<void> {
    const { driver, clock } = this.#options;
    const numbered = { ...delta, to: this.#generation + 1 };
    const startedAt = clock.monotonic();
    // A delta that failed may have reached some workers. So a number is never used twice, not even after a failure.
    this.#generation = numbered.to;
    await driver.apply(numbered);
    this.#seconds.observe(
      { ...this.#labels, scope: scopeOf(numbered) },
      (clock.monotonic() - startedAt) / 1000,
    );
    this.#served(numbered);
  }

  #served(delta: Delta): void {
    const { clock, onServed } = this.#options;
    this.#changed.set(this.#labels, clock.now() / 1000);
    onServed(delta);
  }

  #succeeded(): void {
    this.#needsFullState = false;
    this.#failures = 0;
    this.#notBefore = 0;
    this.#trouble = undefined;
  }

  #failing(error: unknown): void {
    const { clock, random } = this.#options;
    this.#needsFullState = true;
    this.#trouble = error instanceof Error ? error.message : String(error);
    this.#notBefore = clock.monotonic() + backoffDelay(this.#failures - 1, BACKOFF, random);
    this.#failed.inc({ ...this.#labels, reason: error instanceof CapacityError ? 'capacity' : 'error' });
  }
}

/** Label of the metric: a full state takes longer than a change of endpoints. */
function scopeOf({ from, hosts, certificates, credentials }: Delta): string {
  if (from === 0) return 'all';
  const isEmpty = ({ set, remove }: Changes<unknown, unknown>): boolean => set.length + remove.length === 0;
  return [hosts, certificates, credentials].every((each) => each === undefined || isEmpty(each))
    ? 'endpoints'
    : 'routes';
}
