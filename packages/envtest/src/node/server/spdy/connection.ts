import { Duplex } from 'node:stream';
import { dataFrame, type Frame, pingFrame, replyFrame, resetFrame, takeFrame } from './frames.ts';
import { HeaderCodec, type Headers } from './headers.ts';

/** A stream that the client opened. */
export interface SpdyStream {
  headers: Headers;
  duplex: Duplex;
}

const MAX_DATA_BYTES = 32 * 1024;
/** RST_STREAM: the server no longer needs the stream. */
const CANCEL = 5;

/**
 * The server side of a SPDY/3.1 connection. Only clients open streams, as client-go does. Frames are processed in
 * order, and reading pauses while a stream is full.
 */
export class SpdyConnection {
  readonly #transport: Duplex;
  readonly #codec = new HeaderCodec();
  readonly #streams = new Map<number, Duplex>();
  readonly #onStream: (stream: SpdyStream) => void;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>;

  constructor(transport: Duplex, onStream: (stream: SpdyStream) => void) {
    this.#transport = transport;
    this.#onStream = onStream;
    this.closed = new Promise((resolve) => transport.once('close', resolve));
    transport.on('error', () => transport.destroy());
    void this.#read().catch(() => transport.destroy());
    void this.closed.then(() => {
      for (const stream of this.#streams.values()) stream.destroy();
      this.#codec.close();
    });
  }

  /** Sends what is buffered, and closes the connection. */
  close(): void {
    this.#transport.end();
  }

  async #read(): Promise<void> {
    let received = Buffer.alloc(0);
    for await (const chunk of this.#transport) {
      received = Buffer.concat([received, chunk as Buffer]);
      for (let taken = takeFrame(received); taken !== undefined; taken = takeFrame(received)) {
        received = received.subarray(taken.length);
        await this.#receive(taken.frame);
      }
    }
  }

  async #receive(frame: Frame): Promise<void> {
    switch (frame.type) {
      case 'open': {
        const headers = await this.#codec.decode(frame.block);
        this.#send(replyFrame(frame.stream, await this.#codec.encode({})));
        const duplex = this.#open(frame.stream);
        if (frame.fin) duplex.push(null);
        this.#onStream({ headers, duplex });
        return;
      }
      case 'data': {
        const stream = this.#streams.get(frame.stream);
        if (stream === undefined) return;
        // The buffer is reused, so the stream gets a copy.
        if (frame.data.length > 0 && !stream.push(Buffer.from(frame.data))) await roomIn(stream);
        if (frame.fin) stream.push(null);
        return;
      }
      case 'reset':
        this.#streams.get(frame.stream)?.destroy();
        return;
      case 'ping':
        this.#send(pingFrame(frame.id));
        return;
    }
  }

  #open(id: number): Duplex {
    const duplex = new Duplex({
      allowHalfOpen: true,
      read: () => duplex.emit('room'),
      write: (data: Buffer, _encoding, done) => {
        for (let at = 0; at < data.length; at += MAX_DATA_BYTES) {
          this.#send(dataFrame(id, data.subarray(at, at + MAX_DATA_BYTES), false));
        }
        this.#drained(done);
      },
      final: (done) => {
        this.#send(dataFrame(id, Buffer.alloc(0), true));
        done();
      },
      destroy: (_error, done) => {
        this.#streams.delete(id);
        if (!duplex.writableFinished) this.#send(resetFrame(id, CANCEL));
        duplex.emit('room');
        done(null);
      },
    });
    this.#streams.set(id, duplex);
    return duplex;
  }

  #send(frame: Buffer): void {
    if (this.#transport.writable) this.#transport.write(frame);
  }

  #drained(done: () => void): void {
    if (!this.#transport.writableNeedDrain || !this.#transport.writable) {
      done();
      return;
    }
    const proceed = (): void => {
      this.#transport.off('drain', proceed);
      this.#transport.off('close', proceed);
      done();
    };
    this.#transport.on('drain', proceed);
    this.#transport.on('close', proceed);
  }
}

/** A program that does not read its input must not make the agent buffer it without limit. */
const roomIn = (stream: Duplex): Promise<void> =>
  new Promise((resolve) => {
    if (stream.destroyed) resolve();
    stream.once('room', resolve);
  });
