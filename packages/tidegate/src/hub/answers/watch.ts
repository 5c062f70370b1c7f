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
import { fresh } from './fresh.ts';
import type { AnswerContext } from './list.ts';
import { Outbox } from './outbox.ts';

const BOOKMARK_INTERVAL_MS = 60_000;

/**
 * Sends what happens in the projection, until the client leaves, the time is over or `signal` is aborted. Throws an
 * API server's refusal of the form; whatever else is wrong is said within the stream, as API servers do.
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
    if (options.initialEvents) await fresh(hold, options.resourceVersion, context.clock, context.signal);
  } catch (error) {
    if (context.signal.aborted) return;
    if (!(error instanceof ApiError)) throw error;
    refusal = error;
  }
  if (exchange.response.destroyed) return;
  exchange.head(200, 'application/json', { 'Transfer-Encoding': 'chunked' });
  exchange.response.flushHeaders();
  if (refusal === undefined) await new WatchStream(exchange, hold, options, form).run(context);
  else exchange.response.end(errorFrame(refusal));
}

class WatchStream {
  readonly #exchange: Exchange;
  readonly #hold: Hold;
  readonly #options: WatchOptions;
  readonly #form: Form;
  readonly #outbox: Outbox;
  #stop = (): void => {};

  constructor(exchange: Exchange, hold: Hold, options: WatchOptions, form: Form) {
    this.#exchange = exchange;
    this.#hold = hold;
    this.#options = options;
    this.#form = form;
    this.#outbox = new Outbox(exchange.response, () => this.#cut());
  }

  run({ clock, signal }: AnswerContext): Promise<void> {
    const { response } = this.#exchange;
    return new Promise((resolve) => {
      let cancelBookmark = (): void => {};
      const bookmarkAgain = (): void => {
        cancelBookmark = clock.after(BOOKMARK_INTERVAL_MS, () => {
          this.#bookmark();
          bookmarkAgain();
        });
      };
      const cancelTimeout = clock.after(watchTimeoutMs(this.#options), () => {
        // So that the client comes back with a version that is remembered, however little it was told.
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
      seen: resourceVersion,
      changed: (events) => this.#send(events),
      ended: (why) => (why === undefined ? this.#stop() : this.#fail(why)),
    });
  }

  /** Of the state now, however long the client takes to read it. */
  *#initialFrames(): Generator<Buffer> {
    for (const item of this.#hold.projection.items()) yield frameOf('ADDED', item, this.#form);
  }

  #send(events: readonly ProjectionEvent[]): void {
    if (events.length > 0) this.#outbox.send(sharedFrames(events, this.#form));
  }

  #bookmark(annotations?: Record<string, string>): void {
    if (!this.#options.allowWatchBookmarks) return;
    this.#outbox.send(bookmarkFrame(this.#hold.projection, this.#form, annotations));
  }

  #fail(error: unknown): void {
    if (!(error instanceof ApiError)) throw error;
    this.#outbox.send(errorFrame(error));
    this.#stop();
  }

  #cut(): void {
    this.#exchange.response.destroy();
    this.#stop();
  }
}
