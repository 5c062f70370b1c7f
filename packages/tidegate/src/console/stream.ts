import type { ServerResponse } from 'node:http';
import type { Change, Hello, Row, RowId, StreamMessage } from '@tidegate/console/wire';
import { type Feed, idOf } from './feed.ts';

/** About the size of a message with rows, in characters, so that the browser can paint before all of them have arrived. */
const MESSAGE_SIZE = 128 * 1024;
/** An empty line, so that a dead connection is noticed. */
const PING_MS = 15_000;

/** Sends the state and then every change of the rows until the client disconnects: one message in JSON per line. */
export function stream(response: ServerResponse, feed: Feed, hello: Hello): void {
  response.writeHead(200, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  const messages = new Messages(feed, hello);
  let isBlocked = false;
  const pump = (): void => {
    while (!isBlocked && !response.destroyed) {
      const message = messages.next();
      if (message === undefined) return;
      isBlocked = !response.write(`${JSON.stringify(message)}\n`);
    }
  };
  response.on('drain', () => {
    isBlocked = false;
    pump();
  });
  const stop = feed.listen({
    changed: (rows) => {
      messages.changed(rows);
      pump();
    },
    sources: () => {
      messages.sourcesChanged();
      pump();
    },
  });
  const ping = setInterval(() => isBlocked || response.write('\n'), PING_MS);
  response.once('close', () => {
    clearInterval(ping);
    stop();
  });
  pump();
}

/**
 * What one browser has yet to receive. Only the names of rows wait, and each once: a browser that reads slowly gets the newest
 * state of a row, and needs no memory for the states before it.
 */
class Messages {
  readonly #feed: Feed;
  readonly #waiting: Map<string, RowId>;
  #hello: Hello | undefined;
  /** Whether all rows of the first state were sent. Then the states of the sources no longer wait for rows. */
  #isComplete = false;
  #hasSources = true;

  constructor(feed: Feed, hello: Hello) {
    this.#feed = feed;
    this.#hello = hello;
    this.#waiting = new Map([...feed.rows].map((row) => [idOf(row), row]));
  }

  changed(rows: readonly RowId[]): void {
    for (const row of rows) this.#waiting.set(idOf(row), row);
  }

  sourcesChanged(): void {
    this.#hasSources = true;
  }

  /** Undefined if the browser has received everything. */
  next(): StreamMessage | undefined {
    if (this.#hello !== undefined) {
      const hello = this.#hello;
      this.#hello = undefined;
      return ['hello', hello];
    }
    if (this.#waiting.size === 0) this.#isComplete = true;
    if (this.#isComplete && this.#hasSources) {
      this.#hasSources = false;
      return ['sources', [...this.#feed.states]];
    }
    return this.#waiting.size === 0 ? undefined : ['change', this.#nextRows()];
  }

  #nextRows(): Change {
    const put: Row[] = [];
    const drop: RowId[] = [];
    let size = 0;
    for (const [id, { kind, key }] of this.#waiting) {
      if (size > MESSAGE_SIZE) break;
      this.#waiting.delete(id);
      const row = this.#feed.get({ kind, key });
      if (row === undefined) drop.push({ kind, key });
      else put.push(row);
      size += JSON.stringify(row ?? key).length;
    }
    return { put, drop };
  }
}
