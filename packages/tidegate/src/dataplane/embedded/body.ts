import type { Readable } from 'node:stream';

/** The client sends more than the route takes. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** The client has stopped in the middle. */
export class BodyTooSlow extends Error {
  override readonly name = 'BodyTooSlow';
}

/** How long a client may pause within its request. */
const PATIENCE_MS = 60_000;

/**
 * The body of a request, for whoever reads it first: while nobody has begun, another endpoint can have it. Not longer
 * than `limit`, where zero is no limit.
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
    const giveUp = (): void => void source.destroy(new BodyTooSlow('the client has stopped sending'));
    let timer = setTimeout(giveUp, PATIENCE_MS);
    try {
      for await (const chunk of source.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        // An endpoint that takes its time is not the client's fault.
        clearTimeout(timer);
        bytes += chunk.length;
        if (this.#limit > 0 && bytes > this.#limit) throw new BodyTooLarge(`more than ${this.#limit} bytes`);
        yield chunk;
        timer = setTimeout(giveUp, PATIENCE_MS);
      }
    } finally {
      clearTimeout(timer);
    }
  }
}
