import {
  type Exchange,
  INITIAL_EVENTS_END,
  partialMetadata,
  type Representation,
  tooOldResourceVersion,
  type WatchOptions,
  watchOptions,
  watchTimeoutMs,
} from '@tidegate/serving';
import { decodeStored, encodeStored, entryBytes, fromStorage } from '../served/codec.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';
import { parseSelection, type Selection } from '../served/selection.ts';
import { type IncludeObject, includeObject, toTable } from '../served/table.ts';
import { type Change, CompactedError, type Entry, type Store } from '../store/types.ts';
import { sendFrames } from './event-chunks.ts';
import { TurnCache } from './turn-cache.ts';

export interface WatchRequest {
  served: Served;
  namespace: string;
  query: URLSearchParams;
  representation: Representation;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

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
  #sentHeaders = false;
  #end: () => void = () => undefined;

  constructor(store: Store, request: WatchRequest, exchange: Exchange) {
    this.#store = store;
    this.#request = request;
    this.#exchange = exchange;
    this.#selection = parseSelection(request.served.definition, request.query);
    this.#include = includeObject(request.query);
    this.#options = watchOptions(request.query);
  }

  run(signal: AbortSignal): Promise<void> {
    const timeoutMs = watchTimeoutMs(this.#options);
    const { response } = this.#exchange;
    this.#exchange.head(200, 'application/json', { 'Transfer-Encoding': 'chunked' });
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
        response.write(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
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
      this.#write(matching.map((entry) => this.#frame('ADDED', entry, undefined)));
      if (this.#options.initialEventsEnd) this.#sendBookmark({ [INITIAL_EVENTS_END]: 'true' });
    }
    return this.#store.watch(definition.storage, { namespace, name, fromRevision }, (changes) => {
      const frames: Buffer[] = [];
      for (const change of changes) {
        const frame = this.#frameOf(change);
        if (frame !== undefined) frames.push(frame);
      }
      this.#write(frames);
    });
  }

  /**
   * For a watch with selectors, an object appears as ADDED or DELETED when a change makes it match or stop matching.
   */
  #frameOf(change: Change): Buffer | undefined {
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
  #frame(type: EventType, entry: Entry, shared: Change | undefined): Buffer {
    const { served, representation } = this.#request;
    if (representation.as === undefined) {
      return shared === undefined
        ? encodeFrame(type, served, entry)
        : sharedFrame(type, served, entry, shared);
    }
    const object = fromStorage(served, decodeStored(entry));
    const apiVersion = `meta.k8s.io/${representation.version}`;
    const shown =
      representation.as === 'Table'
        ? toTable(served.version, [object], {
            apiVersion,
            include: this.#include,
            metadata: { resourceVersion: String(entry.revision) },
            now: new Date(),
            headers: !this.#sentHeaders,
          })
        : partialMetadata(object, apiVersion);
    this.#sentHeaders = true;
    return Buffer.from(`${JSON.stringify({ type, object: shown })}\n`);
  }

  #sendBookmark(annotations?: Record<string, string>): void {
    if (!this.#options.allowWatchBookmarks) return;
    const { served, representation } = this.#request;
    const metadata = {
      resourceVersion: String(this.#store.revision),
      creationTimestamp: null,
      ...(annotations && { annotations }),
    };
    const object =
      representation.as === 'Table'
        ? {
            kind: 'Table',
            apiVersion: `meta.k8s.io/${representation.version}`,
            metadata: { resourceVersion: metadata.resourceVersion },
            columnDefinitions: null,
            rows: [
              {
                cells: [],
                object: {
                  kind: 'PartialObjectMetadata',
                  apiVersion: `meta.k8s.io/${representation.version}`,
                  metadata,
                },
              },
            ],
          }
        : { kind: served.definition.kind, apiVersion: servedApiVersion(served), metadata };
    this.#write([Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', object })}\n`)]);
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

/** The bytes of an event are the same for every plain watcher of a version, so they are encoded once. */
const frames = new TurnCache<Change, Map<Served['version'], Buffer>>();

function sharedFrame(type: EventType, served: Served, entry: Entry, change: Change): Buffer {
  const byVersion = frames.get(change) ?? new Map<Served['version'], Buffer>();
  const known = byVersion.get(served.version);
  if (known !== undefined) return known;
  const made = encodeFrame(type, served, entry);
  byVersion.set(served.version, made);
  frames.set(change, byVersion);
  return made;
}

const FRAME_END = Buffer.from('}\n');

const encodeFrame = (type: EventType, served: Served, entry: Entry): Buffer =>
  Buffer.concat([Buffer.from(`{"type":"${type}","object":`), entryBytes(served, entry), FRAME_END]);

/** The previous state of an object that stops matching, with the resourceVersion of the change. */
function atRevision(served: Served, previous: Entry, revision: number): Entry {
  const value = encodeStored(served.definition, decodeStored(previous), revision);
  return { ...previous, revision, value };
}
