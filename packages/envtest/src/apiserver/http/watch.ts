import type { KubeObject } from '@tidegate/kube';
import {
  ApiError,
  type Exchange,
  INITIAL_EVENTS_END,
  internalError,
  partialMetadata,
  tooOldResourceVersion,
  type WatchOptions,
  watchOptions,
  watchTimeoutMs,
} from '@tidegate/serving';
import { decodeStored, encodeStored, fromStorage, isCurrent } from '../served/codec.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';
import { parseSelection, type Selection } from '../served/selection.ts';
import { type IncludeObject, includeObject, toTable } from '../served/table.ts';
import { type Change, CompactedError, type Entry, type Store } from '../store/types.ts';
import { sendFrames } from './event-chunks.ts';
import { convertedObject, type EventType, type Framing, framingOf, sharedFrame } from './frames.ts';
import type { Shown } from './representation.ts';

export interface WatchRequest {
  served: Served;
  namespace: string;
  query: URLSearchParams;
  representation: Shown;
}

/** A client that reads too slowly is disconnected and must list again. This limits the memory of the server. */
const MAX_BUFFERED = 16 * 1024 * 1024;
const BOOKMARK_INTERVAL = 60_000;

/**
 * Serves a watch until the client disconnects, the timeout expires, or `signal` is aborted because the server stops.
 */
export function serveWatch(
  store: Store,
  request: WatchRequest,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<void> {
  return new WatchStream(store, request, exchange).run(signal);
}

/** An event; a promise if a webhook converts its object. */
type Frame = Buffer | Promise<Buffer>;

/**
 * One open watch. Each event is one line of JSON.
 *
 * A watch starts in one of three ways:
 * - From a resourceVersion: the store replays the kept changes. If they are no longer kept, the client receives one
 *   ERROR event with status 410 and must list again.
 * - With initial events (no resourceVersion, or 0): the current objects are sent as ADDED events first.
 * - As a streaming list (WatchList, KEP-3157): like the second, and a bookmark with the annotation
 *   `k8s.io/initial-events-end` marks the end of the initial events.
 *
 * Bookmarks are sent only to clients that ask for them. They give an idle client a newer resourceVersion, so that it
 * can resume there after the history has moved on.
 */
class WatchStream {
  readonly #store: Store;
  readonly #request: WatchRequest;
  readonly #exchange: Exchange;
  readonly #selection: Selection;
  readonly #include: IncludeObject;
  readonly #options: WatchOptions;
  readonly #framing: Framing;
  #sentHeaders = false;
  /** Set while frames wait for a conversion. */
  #converting: Promise<void> | undefined;
  #end: () => void = () => undefined;

  constructor(store: Store, request: WatchRequest, exchange: Exchange) {
    this.#store = store;
    this.#request = request;
    this.#exchange = exchange;
    this.#selection = parseSelection(request.served, request.query);
    this.#include = includeObject(request.query);
    this.#options = watchOptions(request.query);
    this.#framing = framingOf(request.representation.format);
  }

  run(signal: AbortSignal): Promise<void> {
    const timeoutMs = watchTimeoutMs(this.#options);
    const { response } = this.#exchange;
    this.#exchange.head(200, this.#framing.contentType, { 'Transfer-Encoding': 'chunked' });
    response.flushHeaders();
    return new Promise((resolve) => {
      let unsubscribe = (): void => undefined;
      const timeout = setTimeout(() => this.#end(), timeoutMs);
      const bookmarks = setInterval(() => this.#sendBookmark(), BOOKMARK_INTERVAL);
      const stop = (): void => {
        clearTimeout(timeout);
        clearInterval(bookmarks);
        unsubscribe();
        signal.removeEventListener('abort', stop);
        response.off('close', stop);
        if (!response.writableEnded) response.end();
        resolve();
      };
      this.#end = stop;
      signal.addEventListener('abort', stop);
      response.on('close', stop);
      try {
        unsubscribe = this.#subscribe();
      } catch (error) {
        if (!(error instanceof CompactedError)) throw error;
        const { status } = tooOldResourceVersion(error.requested, error.oldest);
        response.write(this.#framing.object('ERROR', status));
        stop();
      }
    });
  }

  /** Sends the initial events, if requested, and everything that happens from then on. */
  #subscribe(): () => void {
    const { definition } = this.#request.served;
    const namespace =
      definition.namespaced && this.#request.namespace !== '' ? this.#request.namespace : undefined;
    const name = this.#selection.name;
    let fromRevision = Number(this.#options.resourceVersion);
    // The list and the subscription happen in one synchronous step, so no change is lost or sent twice.
    if (this.#options.initialEvents) {
      const state = this.#store.list(definition.storage, { namespace });
      fromRevision = state.revision;
      const matching = state.entries.filter((entry) => this.#selection.matches(entry));
      this.#send(matching.map((entry) => this.#frame('ADDED', entry, undefined)));
      if (this.#options.initialEventsEnd) this.#sendBookmark({ [INITIAL_EVENTS_END]: 'true' });
    }
    return this.#store.watch(definition.storage, { namespace, name, fromRevision }, (changes) => {
      const frames: Frame[] = [];
      for (const change of changes) {
        const frame = this.#frameOf(change);
        if (frame !== undefined) frames.push(frame);
      }
      this.#send(frames);
    });
  }

  /**
   * For a watch with selectors, an object appears as ADDED or DELETED when a change makes it match or stop matching.
   */
  #frameOf(change: Change): Frame | undefined {
    const { entry, previous } = change;
    const was = previous !== undefined && this.#selection.matches(previous);
    if (change.type === 'delete') return was ? this.#frame('DELETED', entry, change) : undefined;
    const is = this.#selection.matches(entry);
    if (is) {
      // The encoded event can be shared only if this watch sees the same event type as a watch without selectors.
      return this.#frame(
        was ? 'MODIFIED' : 'ADDED',
        entry,
        was === (previous !== undefined) ? change : undefined,
      );
    }
    if (!was || previous === undefined) return undefined;
    return this.#frame('DELETED', atRevision(this.#request.served, previous, entry.revision), undefined);
  }

  /** Encodes one event. `shared` is the change whose encoding can be reused for other watchers. */
  #frame(type: EventType, entry: Entry, shared: Change | undefined): Frame {
    const { served, representation } = this.#request;
    if (served.definition.convert !== undefined && !isCurrent(served, entry)) {
      return convertedObject(served, entry, shared).then((object) => this.#shown(type, object, entry));
    }
    if (representation.as === undefined) {
      return shared === undefined
        ? this.#framing.entry(type, served, entry)
        : sharedFrame(this.#framing, type, served, shared);
    }
    return this.#shown(type, fromStorage(served, decodeStored(entry)), entry);
  }

  /** The event with the form of the object that the client asked for. */
  #shown(type: EventType, object: KubeObject, entry: Entry): Buffer {
    const { served, representation } = this.#request;
    if (representation.as === undefined) return this.#framing.object(type, object);
    const apiVersion = `meta.k8s.io/${representation.version}`;
    if (representation.as !== 'Table') return this.#framing.object(type, partialMetadata(object, apiVersion));
    const table = toTable(served.version, [object], {
      apiVersion,
      include: this.#include,
      metadata: { resourceVersion: String(entry.revision) },
      now: new Date(),
      headers: !this.#sentHeaders,
    });
    this.#sentHeaders = true;
    return this.#framing.object(type, table);
  }

  #sendBookmark(annotations?: Record<string, string>): void {
    if (!this.#options.allowWatchBookmarks) return;
    const { served, representation } = this.#request;
    const { kind } = served.definition;
    const metadata = {
      resourceVersion: String(this.#store.revision),
      creationTimestamp: null,
      ...(annotations && { annotations }),
    };
    const apiVersion = `meta.k8s.io/${representation.version}`;
    const partial = { kind: 'PartialObjectMetadata', apiVersion, metadata };
    const object =
      representation.as === undefined
        ? { kind, apiVersion: servedApiVersion(served), metadata }
        : representation.as === 'Table'
          ? {
              kind: 'Table',
              apiVersion,
              metadata: { resourceVersion: metadata.resourceVersion },
              columnDefinitions: null,
              rows: [{ cells: [], object: partial }],
            }
          : partial;
    this.#send([this.#framing.object('BOOKMARK', object)]);
  }

  /** Writes the frames in order. Frames that a webhook converts are written once they are converted, as are later ones. */
  #send(frames: Frame[]): void {
    const isReady = (frame: Frame): frame is Buffer => !(frame instanceof Promise);
    if (this.#converting === undefined && frames.every(isReady)) {
      this.#write(frames);
      return;
    }
    const before = this.#converting ?? Promise.resolve();
    const sending = before
      .then(() => Promise.all(frames))
      .then((ready) => this.#write(ready))
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        if (this.#converting === sending) this.#converting = undefined;
      });
    this.#converting = sending;
  }

  /** A client cannot skip an event, so it must list again. */
  #fail(error: unknown): void {
    const { status } = error instanceof ApiError ? error : internalError(error);
    this.#write([this.#framing.object('ERROR', status)]);
    this.#end();
  }

  #write(frames: Buffer[]): void {
    if (frames.length === 0) return;
    const { response } = this.#exchange;
    if (response.writableEnded || response.destroyed) return;
    sendFrames(response, frames);
    // Node buffers what the client does not read.
    if (response.writableLength > MAX_BUFFERED) {
      response.destroy();
      this.#end();
    }
  }
}

/** The previous state of an object that stops matching, with the resourceVersion of the change. */
function atRevision(served: Served, previous: Entry, revision: number): Entry {
  const value = encodeStored(served.definition, decodeStored(previous), revision);
  return { ...previous, revision, value };
}
