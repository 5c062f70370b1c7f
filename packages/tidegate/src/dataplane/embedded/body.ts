import type { Readable } from 'node:stream';
import { CLIENT_STALL_MS, MAX_UNKNOWN_BODY_BYTES } from '../limits.ts';

/** How many bytes a body may have. A length is undefined if the client does not announce it. Zero means no limit. */
export const bodyLimit = (limit: number, length: string | undefined): number =>
  limit > 0 && length === undefined ? Math.min(limit, MAX_UNKNOWN_BODY_BYTES) : limit;

/** The request body is larger than the route allows. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
}

/** The client stopped sending in the middle of the body. */
export class BodyTooSlow extends Error {
  override readonly name = 'BodyTooSlow';
}

/** The endpoint stopped reading in the middle of the body. */
export class SendTimeout extends Error {
  override readonly name = 'SendTimeout';
}

/**
 * The body of a request. It can be read once, unless `keep` was called. Until reading has begun, the request can still go to
 * another endpoint. A `limit` of zero means no limit. `onRead` is called before the first byte is read.
 */
export class RequestBody {
  readonly #source: Readable;
  readonly #limit: number;
  readonly #onRead: () => void;
  #kept: readonly Buffer[] | undefined;
  #begun = false;

  constructor(source: Readable, limit: number, onRead: () => void = () => {}) {
    this.#source = source;
    this.#limit = limit;
    this.#onRead = onRead;
  }

  /** Whether an endpoint may have got a part of the body, and no other endpoint can get it. */
  get isGone(): boolean {
    return this.#begun && this.#kept === undefined;
  }

  /** Reads a small body completely, so that several endpoints can get it. */
  async keep(): Promise<readonly Buffer[]> {
    if (this.#kept !== undefined) return this.#kept;
    const chunks: Buffer[] = [];
    for await (const chunk of this.#receive()) chunks.push(chunk);
    this.#kept = chunks;
    return chunks;
  }

  /** `onStall` is called if the endpoint does not take a chunk in time. */
  async *read(sendTimeoutMs: number, onStall: (error: SendTimeout) => void): AsyncGenerator<Buffer> {
    this.#begun = true;
    for await (const chunk of this.#kept ?? this.#receive()) {
      const timer = setTimeout(
        () => onStall(new SendTimeout('the endpoint stopped reading the body')),
        sendTimeoutMs,
      );
      try {
        yield chunk;
      } finally {
        clearTimeout(timer);
      }
    }
  }

  async *#receive(): AsyncGenerator<Buffer> {
    let bytes = 0;
    this.#onRead();
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
