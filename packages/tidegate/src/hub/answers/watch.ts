import {
  ApiError,
  type Exchange,
  INITIAL_EVENTS_END,
  type Representation,
  type WatchOptions,
  watchTimeoutMs,
} from '@tidegate/serving';
import type { Hold, ProjectionEvent } from '../projections/index.ts';
import { type Form, formOf } from './forms.ts';
import { bookmarkFrame, errorFrame, frameOf, sharedFrames } from './frames.ts';
import { untilFresh } from './fresh.ts';
import type { AnswerContext } from './list.ts';
import { Outbox } from './outbox.ts';

/** kube-apiserver sends bookmarks about as often. */
const BOOKMARK_INTERVAL_MS = 60_000;

/**
 * Sends the events of the projection, until the client disconnects, the timeout of the watch expires or the signal is
 * aborted. Throws an ApiError if `formOf` does. Other errors, for example a version that is too old, are sent as an ERROR
 * event in a response with status 200, as API servers do.
 */
export async function answerWatch(
  exchange: Exchange,
  hold: Hold,
  options: WatchOptions,
  representation: Representation,
  context: AnswerContext,
): Promise<void> {
  const form = formOf(representation, 'object');
  let refusal: ApiError | undefined;
  try {
    if (options.initialEvents) await untilFresh(hold, options.resourceVersion, context.clock, context.signal);
  } catch (error) {
    if (context.signal.aborted) return;
    if (!(error instanceof ApiError)) throw error;
    refusal = error;
  }
  if (exchange.response.destroyed) return;
  exchange.head(200, 'application/json', { 'Transfer-Encoding': 'chunked' });
  exchange.response.flushHeaders();
  if (refusal === undefined) await new WatchStream(exchange, hold, options, form, context).run();
  else exchange.response.end(errorFrame(refusal));
}

/** One watch, from its initial events to its end. */
class WatchStream {
  readonly #exchange: Exchange;
  readonly #hold: Hold;
  readonly #options: WatchOptions;
  readonly #form: Form;
  readonly #outbox: Outbox;
  readonly #context: AnswerContext;
  #stop = (): void => {};
  #failed = false;

  constructor(exchange: Exchange, hold: Hold, options: WatchOptions, form: Form, context: AnswerContext) {
    this.#exchange = exchange;
    this.#hold = hold;
    this.#options = options;
    this.#form = form;
    this.#context = context;
    const { queued = () => true } = context;
    this.#outbox = new Outbox(exchange.response, () => this.#disconnect(), queued);
  }

  run(): Promise<void> {
    const { response } = this.#exchange;
    const { clock, signal } = this.#context;
    return new Promise((resolve) => {
      let cancelBookmark = (): void => {};
      const bookmarkAgain = (): void => {
        cancelBookmark = clock.after(BOOKMARK_INTERVAL_MS, () => {
          this.#bookmark();
          bookmarkAgain();
        });
      };
      const cancelTimeout = clock.after(watchTimeoutMs(this.#options), () => {
        // The client resumes from this version, which is in the history even if the watch had no events for a long time.
        this.#bookmark();
        this.#stop();
      });
      const stop = (): void => {
        cancelTimeout();
        cancelBookmark();
        this.#hold.unsubscribe();
        this.#outbox.close();
        signal.removeEventListener('abort', stop);
        response.off('close', stop);
        if (!response.writableEnded && !response.destroyed) response.end();
        resolve();
      };
      this.#stop = stop;
      signal.addEventListener('abort', stop);
      response.on('close', stop);
      bookmarkAgain();
      this.#start();
      if (signal.aborted || response.destroyed) stop();
    });
  }

  /** Sends the initial state or the missed events, and subscribes, in one synchronous step: no event can be lost. */
  #start(): void {
    const { initialEvents, initialEventsEnd, resourceVersion } = this.#options;
    try {
      if (initialEvents) this.#outbox.begin(this.#initialFrames());
      else if (Number(resourceVersion) > 0) this.#send(this.#hold.projection.since(resourceVersion));
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (initialEventsEnd) this.#bookmark({ [INITIAL_EVENTS_END]: 'true' });
    this.#hold.subscribe({
      resumedFrom: resourceVersion,
      changed: (events) => this.#send(events),
      ended: (why) => (why === undefined ? this.#stop() : this.#fail(why)),
    });
  }

  /** The state at the time of the call. `items` returns a snapshot, which does not change while a slow client reads it. */
  *#initialFrames(): Generator<Buffer> {
    for (const item of this.#hold.projection.items()) yield frameOf('ADDED', item, this.#form);
  }

  #send(events: readonly ProjectionEvent[]): void {
    if (events.length > 0) this.#outbox.send(sharedFrames(events, this.#form));
  }

  #bookmark(annotations?: Record<string, string>): void {
    if (!this.#options.allowWatchBookmarks || this.#failed) return;
    this.#outbox.send(bookmarkFrame(this.#hold.projection, this.#form, annotations));
  }

  #fail(error: unknown): void {
    if (!(error instanceof ApiError)) throw error;
    // No event may follow. A slow client gets what is queued for it first, and the error after that: without it, the client
    // would resume from a version that cannot be resumed.
    this.#hold.unsubscribe();
    this.#failed = true;
    this.#outbox.finish(errorFrame(error), () => this.#stop());
  }

  /** The client reads too slowly. A normal end would suggest that it has received everything. */
  #disconnect(): void {
    this.#exchange.response.destroy();
    this.#stop();
  }
}
