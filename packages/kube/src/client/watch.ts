import type { KubeObject } from '../base/object.ts';
import { ApiStatusError, ConnectionError, isStatus, statusOf } from './errors.ts';

/** A BOOKMARK contains only the resource version up to which all events have been sent. */
export interface WatchEvent<T extends KubeObject = KubeObject> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: T;
}

/** Reads one event per line. An ERROR event is thrown as an ApiStatusError. */
export async function* watchEvents<T extends KubeObject>(
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<WatchEvent<T>> {
  for await (const line of lines(chunks)) yield parseEvent<T>(line);
}

const NEWLINE = 0x0a;

/** Joins the chunks of a line only once, when it is complete: large objects arrive in many chunks. */
async function* lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let pieces: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      pieces.push(chunk.subarray(start, end));
      const line = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
      pieces = [];
      start = end + 1;
      if (line.length > 0) yield line.toString('utf8');
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
  // A last line without its newline was cut off; the event will come again after reconnecting.
}

function parseEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  try {
    return eventOf<T>(JSON.parse(line));
  } catch (error) {
    throw error instanceof SyntaxError ? new ConnectionError('watch', error) : error;
  }
}

/** Validates one event. */
export function eventOf<T extends KubeObject>(event: { type?: unknown; object?: unknown }): WatchEvent<T> {
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
    case 'BOOKMARK':
      return event as WatchEvent<T>;
    case 'ERROR':
      throw new ApiStatusError(
        isStatus(event.object) ? event.object : statusOf(500, JSON.stringify(event.object)),
      );
    default:
      throw new ConnectionError(
        'watch',
        new Error(`not a watch event: ${JSON.stringify(event).slice(0, 200)}`),
      );
  }
}
