import type { DurableMap } from '@tidegate/disk';
import {
  type Clock,
  type KubeClient,
  type KubeObject,
  type Logger,
  Metrics,
  Serial,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { alreadyExists, type ResourceRequest } from '@tidegate/serving';
import { unavailable } from '../upstream/index.ts';
import { compose, difference, writable } from './difference.ts';
import { type EntrySummary, type EventEntry, placeOf, type StateEntry, summaryOf } from './entry.ts';
import { added, createdEvent, patchedEvent } from './event.ts';
import {
  type DecodeBody,
  kindOf,
  partOf,
  patched,
  patchOf,
  type WriteRequest,
  written,
} from './journaled-write.ts';
import { type Outcome, send } from './send.ts';
import { Shelf, stateKey } from './shelf.ts';

export interface JournalOptions {
  nodeName: string;
  decode: DecodeBody;
  log?: Logger;
  metrics?: Metrics;
  clock?: Clock;
  /** More events than this, and the oldest go; 10,000 unless told. */
  mostEvents?: number;
}

export interface ReplayResult {
  /** Told to the API server, or known to be there. */
  sent: number;
  /** Refused by it, or about something that is gone. */
  dropped: number;
}

const MOST_EVENTS = 10_000;

/** What the node wrote while the cloud was away, until the cloud has heard it. The map must be its own. */
export class Journal {
  readonly #options: Required<JournalOptions>;
  readonly #shelf: Shelf;
  readonly #serial = new Serial();
  readonly #replays = new Serial();
  readonly #dropped;
  /** The entry that is on its way to the API server. */
  #sending: string | undefined;
  /** One line in the log is enough for all events that had to go in one absence of the cloud. */
  #overflowing = false;

  private constructor(options: Required<JournalOptions>, shelf: Shelf) {
    this.#options = options;
    this.#shelf = shelf;
    const { metrics } = options;
    const size = metrics.gauge('tidegate_hub_journal_entries', {
      help: 'Writes of this node that wait for the API server.',
    });
    metrics.onScrape(() => size.set({}, this.#shelf.size));
    this.#dropped = metrics.counter('tidegate_hub_journal_dropped_total', {
      help: 'Writes of this node that never reached the API server, by reason.',
      labels: ['reason'],
    });
  }

  static async open(map: DurableMap, options: JournalOptions): Promise<Journal> {
    const { log = silentLogger, metrics = new Metrics(), clock = systemClock } = options;
    const { mostEvents = MOST_EVENTS } = options;
    return new Journal({ ...options, log, metrics, clock, mostEvents }, await Shelf.open(map));
  }

  /** Whether a request of this node is one of those that are kept while the cloud is away. */
  takes(info: ResourceRequest): boolean {
    return kindOf(info, this.#options.nodeName) !== undefined;
  }

  /**
   * Whether something of this object still waits for the API server. Then further writes belong here too, although the
   * link may be back: sent around the journal, they would be overwritten by what is older.
   */
  holds(info: ResourceRequest): boolean {
    const kind = kindOf(info, this.#options.nodeName);
    if (kind === undefined || info.name === '') return false;
    return kind === 'event' ? this.#eventKey(info) !== undefined : this.#shelf.has(stateKey(info));
  }

  get size(): number {
    return this.#shelf.size;
  }

  /** In the order in which they will be sent. */
  entries(): EntrySummary[] {
    return this.#shelf.summaries();
  }

  /** The objects whose status or lease waits here, as they were answered last. */
  states(): AsyncIterable<Pick<StateEntry, 'resource' | 'object'>> {
    return this.#shelf.states();
  }

  /**
   * Keeps a write; durable when it resolves. Returns the object as the API server would. `base` is the object as this
   * node knows it. Rejects with an ApiError.
   */
  async write(request: WriteRequest, base: KubeObject | undefined): Promise<KubeObject> {
    const kind = kindOf(request.info, this.#options.nodeName);
    if (kind === undefined) throw unavailable('the API server can not be reached');
    if (request.query.has('dryRun')) {
      throw unavailable('the API server can not be reached, and only it can say what a dry run would do');
    }
    const object = await this.#serial.run(() =>
      kind === 'event' ? this.#takeEvent(request, base) : this.#takeState(kind, request, base),
    );
    try {
      await this.#shelf.durable();
    } catch (error) {
      throw unavailable('the API server can not be reached, and the write can not be kept meanwhile', error);
    }
    return object;
  }

  /**
   * Tells the API server everything, states first. What arrives meanwhile is told too. Rejects as soon as the server can
   * not be reached or takes nothing now; what it has not answered stays.
   */
  replay(client: KubeClient, signal: AbortSignal): Promise<ReplayResult> {
    return this.#replays.run(async () => {
      const result = { sent: 0, dropped: 0 };
      for (let key = this.#shelf.first(); key !== undefined; key = this.#shelf.first()) {
        const outcome = await this.#send(key, client, signal);
        if (outcome === 'sent') result.sent += 1;
        else result.dropped += 1;
      }
      this.#overflowing = false;
      return result;
    });
  }

  async #send(key: string, client: KubeClient, signal: AbortSignal): Promise<'sent' | 'dropped'> {
    signal.throwIfAborted();
    this.#sending = key;
    try {
      const entry = await this.#serial.run(() => this.#shelf.get(key));
      if (entry === undefined) throw new Error(`the journal has lost its entry ${key}`);
      const outcome = await send(entry, client, signal);
      await this.#serial.run(async () => this.#settle(key, entry.writes));
      if (outcome === 'sent') return 'sent';
      this.#reportDrop(summaryOf(entry), outcome);
      return 'dropped';
    } finally {
      this.#sending = undefined;
    }
  }

  /** What was added while the entry was on its way is kept, and told with all the rest of it once more. */
  #settle(key: string, writesSent: number): void {
    if (this.#shelf.writesOf(key) === writesSent) this.#shelf.remove(key);
  }

  #reportDrop(entry: EntrySummary, { reason, error }: Exclude<Outcome, 'sent'>): void {
    this.#dropped.inc({ reason });
    this.#options.log.warn(
      { ...entry, reason, err: error },
      'a write made without the API server is dropped',
    );
  }

  async #takeState(
    kind: 'status' | 'lease',
    request: WriteRequest,
    base: KubeObject | undefined,
  ): Promise<KubeObject> {
    const key = stateKey(request.info);
    const entry = (await this.#shelf.get(key)) as StateEntry | undefined;
    const known = base ?? entry?.object;
    if (known === undefined) {
      throw unavailable(
        `the API server can not be reached, and ${request.info.resource} ${JSON.stringify(request.info.name)} was never seen by this node`,
      );
    }
    // Another object by the same name: what was said of the old one is of no use to anybody.
    const earlier = entry?.object.metadata.uid === known.metadata.uid ? entry : undefined;
    const current = earlier === undefined ? known : patched(known, earlier.patch);
    const object = written(current, kind, request, this.#options.decode);
    const part = partOf(kind);
    const change = difference(writable(current, part), writable(object, part));
    if (Object.keys(change).length === 0) return object;
    this.#shelf.put(key, {
      kind,
      ...placeOf(request.info),
      since: earlier?.since ?? this.#now(),
      writes: (entry?.writes ?? 0) + 1,
      patch: compose(earlier?.patch ?? {}, change),
      object,
    });
    return object;
  }

  async #takeEvent(request: WriteRequest, base: KubeObject | undefined): Promise<KubeObject> {
    return request.info.verb === 'create' ? this.#createEvent(request) : this.#patchEvent(request, base);
  }

  #createEvent({ info, contentType, body }: WriteRequest): KubeObject {
    const event = createdEvent(this.#options.decode(contentType, body), info.namespace, this.#now());
    const { name } = event.metadata;
    if (this.#eventKey({ ...info, name }) !== undefined) throw alreadyExists(info, name);
    this.#makeRoom();
    this.#shelf.put(this.#shelf.newEventKey(), {
      kind: 'event',
      ...placeOf(info, name),
      since: this.#now(),
      writes: 1,
      object: event,
    });
    return event;
  }

  /** Into the entry that waits already, or into one of its own when the API server has the event. */
  async #patchEvent(request: WriteRequest, base: KubeObject | undefined): Promise<KubeObject> {
    const { info } = request;
    const patch = patchOf(request);
    const key = this.#eventKey(info);
    const entry = key === undefined ? undefined : ((await this.#shelf.get(key)) as EventEntry);
    if (key !== undefined && entry !== undefined && key !== this.#sending) {
      const next = added(entry, patch);
      this.#shelf.put(key, next);
      return next.kind === 'event' ? next.object : patchedEvent(info, base, next.patch);
    }
    this.#makeRoom();
    this.#shelf.put(this.#shelf.newEventKey(), {
      kind: 'event patch',
      ...placeOf(info),
      since: this.#now(),
      writes: 1,
      patch,
    });
    return patchedEvent(info, base ?? (entry?.kind === 'event' ? entry.object : undefined), patch);
  }

  #makeRoom(): void {
    while (this.#shelf.eventCount >= this.#options.mostEvents) {
      const oldest = this.#shelf.oldestEvent(this.#sending);
      if (oldest === undefined) return;
      this.#shelf.remove(oldest);
      this.#dropped.inc({ reason: 'full' });
      if (this.#overflowing) continue;
      this.#overflowing = true;
      const { mostEvents, log } = this.#options;
      log.warn({ mostEvents }, 'too many events wait for the API server; from now on the oldest are dropped');
    }
  }

  #eventKey({ resource, namespace, name }: ResourceRequest): string | undefined {
    return this.#shelf.eventKey(`${resource} ${namespace}/${name}`);
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}
