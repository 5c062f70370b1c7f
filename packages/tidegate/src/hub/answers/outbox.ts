import type { ServerResponse } from 'node:http';

/**
 * A client that reads slower than the cluster changes is disconnected when this much is queued for it, in bytes. It lists
 * again, and the hub does not run out of memory.
 */
const MOST_WAITING = 16 * 1024 * 1024;
/** The size of one write in bytes. Small enough that a huge initial state does not delay other clients. */
const CHUNK = 64 * 1024;

/**
 * The frames that a client has not read yet, in order. Frames are shared between clients, so an event that many clients
 * have not read is in memory once.
 */
export class Outbox {
  readonly #response: ServerResponse;
  readonly #onOverflow: () => void;
  readonly #queued: (bytes: number) => boolean;
  /** The initial state. Encoded while the client reads, because it may be larger than MOST_WAITING. */
  #initial: Iterator<Buffer> | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #blocked = false;
  #onSent = (): void => {};

  /** `queued` counts the bytes that wait. If it returns false, the client has too many in all of its watches. */
  constructor(response: ServerResponse, onOverflow: () => void, queued: (bytes: number) => boolean) {
    this.#response = response;
    this.#queued = queued;
    this.#onOverflow = onOverflow;
    response.on('drain', this.#onDrain);
  }

  /** Sends the initial state. Frames that are sent later are queued behind it. */
  begin(frames: Iterator<Buffer>): void {
    this.#initial = frames;
    this.#pump();
  }

  send(frame: Buffer): void {
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
    this.#pump();
    if (this.#waitingBytes > MOST_WAITING || !this.#queued(this.#waitingBytes)) this.#onOverflow();
  }

  /** Sends a last frame. Calls `onSent` when the client has accepted everything before it and the frame itself. */
  finish(frame: Buffer, onSent: () => void): void {
    this.#onSent = onSent;
    this.#waiting.push(frame);
    this.#waitingBytes += frame.length;
    this.#pump();
  }

  /** Discards everything that was not written yet. */
  close(): void {
    this.#response.off('drain', this.#onDrain);
    this.#blocked = true;
    this.#onSent = () => {};
    this.#initial = undefined;
    this.#waiting = [];
  }

  readonly #onDrain = (): void => {
    this.#blocked = false;
    this.#pump();
    this.#queued(this.#waitingBytes);
  };

  #pump(): void {
    while (!this.#blocked) {
      const chunk = this.#nextChunk();
      if (chunk === undefined) {
        this.#onSent();
        return;
      }
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
    const next = this.#initial?.next();
    if (next?.done === false) return next.value;
    this.#initial = undefined;
    const frame = this.#waiting.shift();
    this.#waitingBytes -= frame?.length ?? 0;
    return frame;
  }
}
