import type { Readable } from 'node:stream';
import { CLIENT_STALL_MS } from '../limits.ts';

/** The request body is larger than the route allows. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** The client stopped sending in the middle of the body. */
export class BodyTooSlow extends Error {
  override readonly name = 'BodyTooSlow';
}

/**
 * The body of a request. It can be read once. Until reading has begun, the request can still go to another endpoint.
 * A `limit` of zero means no limit.
 */
export class RequestBody {
  readonly #source: Readable;
  readonly #limit: number;
  begun = false;

  constructor(source: Readable, limit: number) {
    this.#source = source;
    this.#limit = limit;
  }

  async *read(): AsyncGenerator<Buffer> {
    this.begun = true;
    let bytes = 0;
    const source = this.#source;
    const giveUp = (): void => void source.destroy(new BodyTooSlow('the client stopped sending'));
    let timer = setTimeout(giveUp, CLIENT_STALL_MS);
    try {
      for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        // The timer measures the client only: it does not run while the endpoint takes the chunk.
        clearTimeout(timer);
        bytes += chunk.length;
        if (this.#limit > 0 && bytes > this.#limit) throw new BodyTooLarge(`more than ${this.#limit} bytes`);
        yield chunk;
        timer = setTimeout(giveUp, CLIENT_STALL_MS);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
