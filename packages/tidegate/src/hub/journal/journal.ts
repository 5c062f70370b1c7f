import { DiskError, type DurableMap } from '@tidegate/disk';
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
import { alreadyExists, insufficientStorage, type ResourceRequest } from '@tidegate/serving';
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
  /** Decodes the body of a create or update. */
  decode: DecodeBody;
  log?: Logger;
  metrics?: Metrics;
  clock?: Clock;
  /** The maximum number of events. If there are more, the oldest are dropped. 10,000 by default. */
  maxEvents?: number;
}

export interface ReplayResult {
  /** Entries that the API server accepted or already had. */
  sent: number;
  /** Entries that the API server rejected, or whose object is gone. */
  dropped: number;
}

const MAX_EVENTS = 10_000;
/** A write that the API server forbids is dropped if it still does so after this time. */
const FORBIDDEN_FOR_MS = 10 * 60_000;

/**
 * The writes of the node that no API server has received yet. No other component may use the map, which must undo puts
 * that the disk refuses: a client whose write was refused must not find it in the cluster later.
 *
 * Writes and replay can overlap. `#serial` orders every read-modify-write of an entry. A request to the API
 * server runs outside of it, so that a slow link does not delay the kubelet. An entry that was changed while
 * it was being sent stays in the journal and is sent again; see `#settle`.
 */
export class Journal {
  readonly #options: Required<JournalOptions>;
  readonly #shelf: Shelf;
  /** Orders the changes of entries. */
  readonly #serial = new Serial();
  /** Allows one replay at a time. */
  readonly #replays = new Serial();
  readonly #dropped;
  /** Monotonic time of the first 403 for an entry, by key. */
  readonly #forbiddenSince = new Map<string, number>();
  /** The key of the entry that is being sent. */
  #sending: string | undefined;
  /**
   * Whether dropped events were logged since the last complete replay. One message is enough for one time
   * offline.
   */
  #overflowing = false;

  private constructor(options: Required<JournalOptions>, shelf: Shelf) {
    this.#options = options;
    this.#shelf = shelf;
    const { metrics } = options;
    const size = metrics.gauge('tidegate_hub_journal_entries', {
      help: 'Writes of this node that wait to be sent to an API server.',
    });
    metrics.onScrape(() => size.set({}, this.#shelf.size));
    this.#dropped = metrics.counter('tidegate_hub_journal_dropped_total', {
      help: 'Writes of this node that were dropped and never applied by an API server, by reason.',
      labels: ['reason'],
    });
  }

  static async open(map: DurableMap, options: JournalOptions): Promise<Journal> {
    const { log = silentLogger, metrics = new Metrics(), clock = systemClock } = options;
    const { maxEvents = MAX_EVENTS } = options;
    return new Journal({ ...options, log, metrics, clock, maxEvents }, await Shelf.open(map));
  }

  /**
   * Whether the journal accepts this type of write while no API server is reachable. Only call it for
   * requests of the node.
   */
  takes(info: ResourceRequest): boolean {
    return kindOf(info, this.#options.nodeName) !== undefined;
  }

  /**
   * Whether writes to this object still wait to be sent. If so, further writes must also go to the journal,
   * even if an API server is reachable again. Otherwise, the replay would overwrite them with older state.
   */
  holds(info: ResourceRequest): boolean {
    const kind = kindOf(info, this.#options.nodeName);
    if (kind === undefined || info.name === '') return false;
    return kind === 'event' ? this.#eventKey(info) !== undefined : this.#shelf.has(stateKey(info));
  }

  /** Whether the status of any pod waits to be sent. */
  holdsPods(): boolean {
    return this.#shelf
      .summaries()
      .some(({ kind, object }) => kind === 'status' && object.startsWith('pods '));
  }

  get size(): number {
    return this.#shelf.size;
  }

  /** All entries, in the order in which they will be sent. */
  entries(): EntrySummary[] {
    return this.#shelf.summaries();
  }

  /** The objects whose status or lease is in the journal, as they were last returned to the node. */
  states(): AsyncIterable<Pick<StateEntry, 'resource' | 'object'>> {
    return this.#shelf.states();
  }

  /**
   * Accepts a write and returns the object as the API server would. The write is on disk when this resolves.
   * `base` is the object as this node knows it. Rejects with an ApiError.
   */
  async write(request: WriteRequest, base: KubeObject | undefined): Promise<KubeObject> {
    const kind = kindOf(request.info, this.#options.nodeName);
    if (kind === undefined) throw unavailable('the API server is unreachable');
    if (request.query.has('dryRun')) {
      throw unavailable('the API server is unreachable, and only it can evaluate a dry run');
    }
    const object = await this.#serial.run(() =>
      kind === 'event' ? this.#takeEvent(request, base) : this.#takeState(kind, request, base),
    );
    try {
      await this.#shelf.durable();
    } catch (error) {
      // The map has taken the refused writes back.
      await this.#serial.run(() => this.#shelf.reload());
      throw refusal(error);
    }
    return object;
  }

  /**
   * Sends all entries to the API server, states first, including entries that are added in the meantime.
   * Rejects at the first error that is not final, for example if the API server is unreachable or overloaded.
   * Entries without a final response stay in the journal.
   */
  replay(client: KubeClient, signal: AbortSignal): Promise<ReplayResult> {
    return this.#replays.run(async () => {
      const result = { sent: 0, dropped: 0 };
      // Later writes to an object must not overtake one that waits, so all entries of the object wait with it.
      const postponed = new Map<string, unknown>();
      const next = (): string | undefined => this.#shelf.first(postponed);
      for (let key = next(); key !== undefined; key = next()) {
        const outcome = await this.#send(key, client, signal);
        if (typeof outcome === 'object') postponed.set(outcome.object, outcome.error);
        else result[outcome] += 1;
      }
      for (const [object, cause] of postponed)
        throw new Error(
          `the API server forbids ${postponed.size} writes, for example to ${object}; retrying`,
          {
            cause,
          },
        );
      this.#overflowing = false;
      return result;
    });
  }

  async #send(
    key: string,
    client: KubeClient,
    signal: AbortSignal,
  ): Promise<'sent' | 'dropped' | { object: string; error: unknown }> {
    signal.throwIfAborted();
    this.#sending = key;
    try {
      const entry = await this.#serial.run(() => this.#shelf.get(key));
      if (entry === undefined) throw new Error(`the journal entry ${key} is missing on disk`);
      const outcome = await send(entry, client, signal);
      if (this.#isPostponed(key, outcome)) {
        const { error } = outcome as { error?: unknown };
        return { object: summaryOf(entry).object, error };
      }
      await this.#serial.run(async () => this.#settle(key, entry.writes));
      if (outcome === 'sent') return 'sent';
      this.#reportDrop(summaryOf(entry), outcome);
      return 'dropped';
    } finally {
      this.#sending = undefined;
    }
  }

  /** Whether the write is forbidden, but not yet for so long that the API server means it. */
  #isPostponed(key: string, outcome: Outcome): boolean {
    const now = this.#options.clock.monotonic();
    if (outcome === 'sent' || outcome.reason !== 'forbidden') {
      this.#forbiddenSince.delete(key);
      return false;
    }
    const since = this.#forbiddenSince.get(key) ?? now;
    this.#forbiddenSince.set(key, since);
    if (now - since < FORBIDDEN_FOR_MS) return true;
    this.#forbiddenSince.delete(key);
    return false;
  }

  /**
   * Deletes the entry, unless it was changed while it was being sent. In that case the whole entry is sent
   * again, which is safe because a patch contains the final state.
   */
  #settle(key: string, writesSent: number): void {
    if (this.#shelf.writesOf(key) === writesSent) this.#shelf.remove(key);
  }

  #reportDrop(entry: EntrySummary, { reason, error }: Exclude<Outcome, 'sent'>): void {
    this.#dropped.inc({ reason });
    this.#options.log.warn(
      { ...entry, reason, err: error },
      'dropped a write that was made while no API server was reachable',
    );
  }

  /** Applies a write to a status or lease, and adds the change to the entry of the object. */
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
        `the API server is unreachable, and this node has no copy of ${request.info.resource} ${JSON.stringify(request.info.name)}`,
      );
    }
    // A different UID means that the object was deleted and created again. Writes to the old object do not
    // apply to the new one.
    const earlier = entry?.object.metadata.uid === known.metadata.uid ? entry : undefined;
    // The copy of the node may be older than the journal, so earlier writes are applied to it again.
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

  /**
   * Adds the patch to the entry of the event. If there is none, or if it is being sent, the API server has
   * the event or will have it, and the patch becomes an entry of its own.
   */
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

  /** Drops old events until there is room for one more, except for the one that is being sent. */
  #makeRoom(): void {
    while (this.#shelf.eventCount >= this.#options.maxEvents) {
      const oldest = this.#shelf.dispensableEvent(this.#sending);
      if (oldest === undefined) return;
      this.#shelf.remove(oldest);
      this.#dropped.inc({ reason: 'full' });
      if (this.#overflowing) continue;
      this.#overflowing = true;
      const { maxEvents, log } = this.#options;
      log.warn({ maxEvents }, 'too many events wait to be sent to an API server; dropping the oldest');
    }
  }

  /** The key of the newest entry of this event. */
  #eventKey({ resource, namespace, name }: ResourceRequest): string | undefined {
    return this.#shelf.eventKey(`${resource} ${namespace}/${name}`);
  }

  #now(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}

function refusal(error: unknown): Error {
  const problem = 'the API server is unreachable, and the hub cannot store the write until then';
  return error instanceof DiskError && error.code === 'full'
    ? insufficientStorage(`${problem}: ${error.message}`, error)
    : unavailable(`${problem}: ${(error as Error).message}`, error);
}
