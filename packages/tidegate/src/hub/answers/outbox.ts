import type { ServerResponse } from 'node:http';

/** A client that reads slower than the cluster changes is cut off: it lists again, and the hub keeps its memory. */
const MOST_WAITING = 16 * 1024 * 1024;
/** What is written at once: small enough that a huge state does not hold up everybody else. */
const CHUNK = 64 * 1024;

/** What a client has yet to read, in order. What many clients wait for is in memory once. */
export class Outbox {
  readonly #response: ServerResponse;
  readonly #onOverflow: () => void;
  /** Made while the client reads: a first state may be larger than what may wait. */
  #first: Iterator<Buffer> | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #blocked = false;

  constructor(response: ServerResponse, onOverflow: () => void) {
    this.#response = response;
    this.#onOverflow = onOverflow;
    response.on('drain', this.#onDrain);
  }

  /** These come before everything else that is sent later. */
  begin(frames: Iterator<Buffer>): void {
    this.#first = frames;
    this.#pump();
  }

  send(frame: Buffer): void {
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
    this.#pump();
    if (this.#waitingBytes > MOST_WAITING) this.#onOverflow();
  }

  /** Forgets what waits. */
  close(): void {
    this.#response.off('drain', this.#onDrain);
    this.#blocked = true;
    this.#first = undefined;
    this.#waiting = [];
  }

  readonly #onDrain = (): void => {
    this.#blocked = false;
    this.#pump();
  };

  #pump(): void {
    while (!this.#blocked) {
      const chunk = this.#nextChunk();
      if (chunk === undefined) return;
      this.#blocked = !this.#response.write(chunk);
    }
  }

  #nextChunk(): Buffer | undefined {
    const frames: Buffer[] = [];
    let size = 0;
    while (size < CHUNK) {
      const frame = this.#nextFrame();
      if (frame === undefined) break;
      frames.push(frame);
      size += frame.length;
    }
    return frames.length > 1 ? Buffer.concat(frames, size) : frames[0];
  }

  #nextFrame(): Buffer | undefined {
    const first = this.#first?.next();
    if (first?.done === false) return first.value;
    this.#first = undefined;
    const frame = this.#waiting.shift();
    this.#waitingBytes -= frame?.length ?? 0;
    return frame;
  }
}
