import { writeSync } from 'node:fs';

/** How a line is written: returns how many bytes were written, or throws the error of the system call. */
type WriteBytes = (bytes: Buffer) => number;

/** How long, and how often, a full pipe is given time. A program does not hang because its log is not read. */
const PIPE_WAIT_MS = 10;
const PIPE_WAITS = 50;

const RETRY_MS = 1000;
/** The level of a warning in pino. */
const WARN = 40;
const NEWLINE = 0x0a;

/**
 * Writes the lines of a log to a file descriptor. A failure never reaches the program: it would otherwise end, or stop
 * answering, because of its log. Lines that cannot be written, for example because the disk is full, are dropped and
 * counted. Once writing succeeds again, one line says how many were lost, and why.
 *
 * The destination of pino cannot be used: it keeps a line that it failed to write and emits an error, which ends the
 * process.
 */
export class LogOutput {
  readonly #write: WriteBytes;
  readonly #now: () => number;
  #lost = 0;
  #reason = '';
  /** The last write stopped in the middle of a line. */
  #torn = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(output: number | WriteBytes, now: () => number = Date.now) {
    this.#write = typeof output === 'number' ? (bytes) => writeSync(output, bytes) : output;
    this.#now = now;
  }

  /** The number of lines that were dropped and not reported yet. */
  get lost(): number {
    return this.#lost;
  }

  /** `line` ends with a line break. */
  write(line: string): void {
    const text = `${this.#torn ? '\n' : ''}${this.#lost > 0 ? this.#report() : ''}${line}`;
    try {
      this.#writeAll(Buffer.from(text));
      this.#lost = 0;
    } catch (error) {
      if (line !== '') this.#lost += 1;
      this.#reason = (error as Error).message;
      this.#tryLater();
    }
  }

  /** Reports lost lines also if no other line follows. */
  #tryLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#lost > 0) this.write('');
    }, RETRY_MS).unref();
  }

  /** A line of its own, in the format of pino. */
  #report(): string {
    const lines = this.#lost === 1 ? 'one line' : `${this.#lost} lines`;
    const msg = `dropped ${lines} of this log, because writing failed: ${this.#reason}`;
    return `${JSON.stringify({ level: WARN, time: this.#now(), pid: process.pid, lost: this.#lost, msg })}\n`;
  }

  /** A disk with little space left writes a part, and fails when the rest is written. */
  #writeAll(bytes: Buffer): void {
    let written = 0;
    let waits = 0;
    while (written < bytes.length) {
      try {
        written += this.#write(bytes.subarray(written));
        this.#torn = written < bytes.length || bytes[written - 1] !== NEWLINE;
      } catch (error) {
        // A pipe that is full because its reader is slow.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || waits >= PIPE_WAITS) throw error;
        waits += 1;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_WAIT_MS);
      }
    }
  }
}
