import { type Logger, Serial } from '@tidegate/kube';
import { applyDelta, DeltaGapError, EMPTY_TABLE, type RouteTable } from '../../ingress/match/index.ts';
import type { Delta } from '../../ingress/model.ts';
import { CapacityError, type Driver, type Listening, NeedsFullState, type Unserved } from '../driver.ts';
import { type Change, changesOf, changesOfAll, inverseOf } from './changes.ts';
import { Fit, type Withheld, without } from './fit.ts';
import { MEMORY, Nginx, type NginxOptions } from './nginx.ts';
import { Relays } from './relays.ts';
import { splitPortion } from './shared-rules.ts';
import { trafficMetrics } from './traffic.ts';

/** How much of the memory is used. Free space may be in parts that are too small, so less is tried if a change does not fit. */
const PARTS = [0.85, 0.7, 0.5];

/** Delay between attempts to start a replacement. The first attempt is immediate. */
const RESTART_MS = 1000;

/**
 * Runs nginx as the data plane. It keeps a copy of the route table, so that it can start a new nginx if this one
 * exits.
 */
export class NginxDriver implements Driver {
  /** Changed once, after the start: a replacement gets the ports that were chosen for port 0. */
  #options: NginxOptions;
  readonly #log: Logger;
  /** Starts, changes and replacements run one after the other, in the order of the calls. */
  readonly #serial = new Serial();
  /** The last table that nginx has acknowledged. It changes only after a write has succeeded. */
  #table: RouteTable = EMPTY_TABLE;
  /** The table with what does not fit into the memory of nginx. */
  #wanted: RouteTable = EMPTY_TABLE;
  readonly #fit: Fit;
  readonly #relays: Relays;
  #withheld: Withheld = new Map();
  #nginx: Nginx | undefined;
  #restart: NodeJS.Timeout | undefined;
  /** Why no nginx is running, for health and for errors. */
  #notRunning = 'nginx has not been started';
  #closing = false;

  constructor(options: NginxOptions, { log }: { log: Logger }) {
    this.#options = options;
    this.#log = log;
    this.#relays = new Relays(log, options.defaults.connectTimeoutMs);
    this.#fit = new Fit({ ...MEMORY, ...options.memory });
  }

  start(first?: Delta): Promise<Listening> {
    return this.#serial.run(async () => {
      const write = async (table: RouteTable): Promise<Listening> => (await this.#launch(table)).listening;
      const listening = first === undefined ? await write(this.#table) : await this.#fitted(first, write);
      // A replacement must listen on the same ports.
      this.#options = { ...this.#options, httpPort: listening.http, httpsPort: listening.https };
      return listening;
    });
  }

  apply(delta: Delta): Promise<void> {
    return this.#serial.run(() =>
      this.#fitted(delta, (after, isOther) =>
        // If entries are withheld, others than those of the delta may have changed.
        this.#write(changesOf(this.#table, after, isOther ? { ...delta, from: 0 } : delta), after),
      ),
    );
  }

  /** Writes what fits of the table after the delta. Throws CapacityError if that fails nevertheless. */
  async #fitted<T>(delta: Delta, write: (after: RouteTable, isOther: boolean) => Promise<T>): Promise<T> {
    const wanted = this.#next(delta);
    this.#fit.note(wanted, delta);
    try {
      await this.#relays.update(wanted, delta);
      for (const [at, part] of PARTS.entries()) {
        const withheld = this.#fit.withheld(part);
        const table = without(wanted, withheld);
        try {
          const result = await write(table, withheld.size > 0 || this.#withheld.size > 0);
          this.#wanted = wanted;
          this.#table = table;
          this.#relays.prune();
          this.#report(withheld);
          return result;
        } catch (error) {
          if (!(error instanceof CapacityError) || at === PARTS.length - 1) throw error;
        }
      }
      throw new CapacityError('the memory of nginx is full');
    } catch (error) {
      this.#fit.reset(this.#wanted);
      throw error;
    }
  }

  #report(withheld: Withheld): void {
    const before = reportOf(this.#withheld);
    this.#withheld = withheld;
    const after = reportOf(withheld);
    if (after === before) return;
    if (after === undefined) this.#log.info({}, 'the memory of nginx has room for all routes again');
    else this.#log.warn({}, after);
  }

  /** The processes of nginx. They stay the same whatever is applied, because nginx never reloads. */
  async processes(): Promise<{ master: number; workers: number[] }> {
    const nginx = this.#running();
    const { workers } = await nginx.state();
    return { master: nginx.pid ?? 0, workers };
  }

  health(): ReturnType<Driver['health']> {
    const reasons: string[] = [];
    if (this.#closing) reasons.push('nginx accepts no new connections');
    else if (this.#nginx === undefined) reasons.push(this.#notRunning);
    if (this.#table.generation === 0) reasons.push('no routes have been received yet');
    const warning = reportOf(this.#withheld);
    return { ready: reasons.length === 0, reasons, ...(warning !== undefined && { warnings: [warning] }) };
  }

  unserved(): Unserved[] {
    return [...this.#withheld].flatMap(([kind, keys]) =>
      [...keys].map((key) => {
        const { host, namespace } = splitPortion(key) ?? {};
        return namespace === undefined ? { kind, key } : { kind, key: `${host}`, namespace };
      }),
    );
  }

  async metrics(): Promise<string> {
    const { className, router = '' } = this.#options;
    return trafficMetrics(await this.#running().counts(), { className, router });
  }

  async drain(ms: number): Promise<void> {
    this.#closing = true;
    const nginx = this.#nginx;
    if (nginx === undefined) return;
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([nginx.quit(), enough]);
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#restart);
    await this.#serial.idle();
    await this.#nginx?.stop();
    this.#nginx = undefined;
    this.#relays.close();
  }

  #next(delta: Delta): RouteTable {
    try {
      return applyDelta(this.#wanted, delta);
    } catch (error) {
      if (error instanceof DeltaGapError) throw new NeedsFullState(error.message, { cause: error });
      throw error;
    }
  }

  /**
   * Writes changes to the running nginx. If they do not fit, the written part is undone and the error is thrown. After any
   * other failure a replacement starts with the new table, which then serves the changes.
   */
  async #write(changes: readonly Change[], after: RouteTable): Promise<void> {
    const nginx = this.#running();
    try {
      await nginx.push(changes);
    } catch (error) {
      if (!(error instanceof CapacityError)) return this.#replace(nginx, after, error);
      await this.#rollBack(nginx, changes);
      throw error;
    }
  }

  /** Undoes the part of the changes that was written before the memory was full. */
  async #rollBack(nginx: Nginx, changes: readonly Change[]): Promise<void> {
    try {
      await nginx.push(inverseOf(changes, this.#table));
    } catch (error) {
      await this.#replace(nginx, this.#table, error);
    }
  }

  /**
   * After an unexpected failure the content of the dictionaries is unknown. A new nginx starts with the known table.
   */
  async #replace(nginx: Nginx, table: RouteTable, cause: unknown): Promise<void> {
    this.#log.warn({ err: cause }, 'nginx failed to apply a change; starting a replacement');
    this.#nginx = undefined;
    await nginx.stop();
    await this.#launch(table);
  }

  /** Starts nginx with the table as a file, so that it serves the table from its first request on. */
  async #launch(table = this.#table): Promise<Nginx> {
    const known = table.generation > 0 ? changesOfAll(table) : undefined;
    const nginx = await Nginx.start(this.#options, { log: this.#log, relays: this.#relays }, known);
    this.#nginx = nginx;
    void nginx.ended.then((reason) => this.#onEnd(nginx, reason));
    return nginx;
  }

  /** Called when an nginx exits. Ignores an nginx that was stopped on purpose. */
  #onEnd(nginx: Nginx, reason: string): void {
    if (this.#closing || this.#nginx !== nginx) return;
    this.#log.error({ reason }, 'nginx exited; starting a replacement');
    this.#nginx = undefined;
    this.#notRunning = `nginx exited: ${reason}`;
    this.#relaunch(nginx, 0);
  }

  /**
   * Retries until nginx runs. `former` is stopped first: its workers can outlive a killed master and hold the ports.
   */
  #relaunch(former: Nginx, ms: number): void {
    this.#restart = setTimeout(() => {
      this.#serial
        .run(async () => {
          if (this.#nginx !== undefined || this.#closing) return;
          await former.stop();
          await this.#launch();
        })
        .catch((error: unknown) => {
          this.#notRunning = `nginx cannot be started: ${(error as Error).message}`;
          this.#log.error({ err: error }, this.#notRunning);
          this.#relaunch(former, RESTART_MS);
        });
    }, ms);
  }

  /** Throws NeedsFullState if no nginx runs: the agent then retries with the full state. */
  #running(): Nginx {
    if (this.#nginx === undefined) throw new NeedsFullState(this.#notRunning);
    return this.#nginx;
  }
}

const MOST_NAMED = 5;

function labelOf(key: string): string {
  const portion = splitPortion(key);
  return portion === undefined ? key : `rules without a host of namespace ${portion.namespace}`;
}

/** Undefined if everything fits. */
function reportOf(withheld: Withheld): string | undefined {
  if (withheld.size === 0) return undefined;
  const parts = [...withheld].map(([dictionary, keys]) => {
    const named = [...keys].sort().slice(0, MOST_NAMED).map(labelOf).join(', ');
    return `${keys.size} ${dictionary} (${named}${keys.size > MOST_NAMED ? ', ...' : ''})`;
  });
  return `The memory of nginx is full. The namespaces that use the most of it lost ${parts.join(' and ')}: their requests get the response 503, or the certificate of the router. Use fewer or smaller Secrets, lists and paths in these namespaces, or move them to another class.`;
}
