import type { ServerResponse } from 'node:http';
import type { Hello, Row, StreamEvents } from '@tidegate/console/wire';
import type { Feed } from './feed.ts';

/** Rows per message of the first state, so that the browser can paint before all of them have arrived. */
const CHUNK = 500;
/** A browser that does not read has to start again, instead of filling the memory of this process. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/** A comment, so that a dead connection is noticed. */
const PING_MS = 15_000;

/** Sends the state and then every change of the rows, as server-sent events, until the client disconnects. */
export function stream(response: ServerResponse, feed: Feed, hello: Hello): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const send = <E extends keyof StreamEvents>(event: E, data: StreamEvents[E]): void => {
    // JSON has no line breaks outside of strings, and escapes those in strings.
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (response.writableLength > MAX_BUFFERED_BYTES) response.destroy();
  };
  send('hello', hello);
  let chunk: Row[] = [];
  const flush = (): void => {
    if (chunk.length > 0) send('change', { put: chunk });
    chunk = [];
  };
  for (const row of feed.rows) {
    chunk.push(row);
    if (chunk.length === CHUNK) flush();
  }
  flush();
  send('sources', [...feed.states]);
  const stop = feed.listen({
    change: (change) => send('change', change),
    sources: (states) => send('sources', states),
  });
  const ping = setInterval(() => response.write(': ping\n\n'), PING_MS);
  response.once('close', () => {
    clearInterval(ping);
    stop();
  });
}
