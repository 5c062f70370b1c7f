/**
 * The append log: segments of frames, one frame a group commit, each durable before `append` returns.
 *
 * Measured with durable 2 KB writes on a shared 2-core virtual machine with ext4, in several runs that differ by a
 * quarter and more: bare write + fdatasync 2,000 to 2,600/s; this store 1,700 to 2,200/s with one writer and 19,000 to
 * 25,000/s with 64; classic-level with sync 1,400 to 2,700/s and 2,000 to 4,800/s. And it needs no dependency.
 */
import { rm } from 'node:fs/promises';
import {
  encodeHeader,
  filePath,
  HEADER_SIZE,
  type OpenOutput,
  type OutputFile,
  syncDirectory,
} from './files.ts';
import { FrameEncoder, type LogRecord } from './record.ts';

export class Log {
  readonly #directory: string;
  readonly #open: OpenOutput;
  readonly #encoder = new FrameEncoder();
  /** First revisions of the segments on disk, the current one last. */
  #segments: number[];
  #file: OutputFile;
  #end: number;
  /** A write failed: behind `#end` there may be part of it, which must go before the next one. */
  #torn = false;

  private constructor(
    directory: string,
    openOutput: OpenOutput,
    segments: number[],
    file: OutputFile,
    end: number,
  ) {
    this.#directory = directory;
    this.#open = openOutput;
    this.#segments = segments;
    this.#file = file;
    this.#end = end;
  }

  static async create(directory: string, openOutput: OpenOutput, firstRevision: number): Promise<Log> {
    const file = await beginSegment(directory, openOutput, firstRevision);
    return new Log(directory, openOutput, [firstRevision], file, HEADER_SIZE);
  }

  /** Goes on behind `end` of the last of `segments`, and cuts off what stands there. */
  static async continue(
    directory: string,
    openOutput: OpenOutput,
    segments: readonly number[],
    end: number,
  ): Promise<Log> {
    const file = await openOutput(filePath(directory, 'log', segments.at(-1)!));
    const log = new Log(directory, openOutput, [...segments], file, end);
    await log.#cut();
    return log;
  }

  /** Makes the records durable, all or none; returns how many bytes that took. */
  async append(records: readonly LogRecord[]): Promise<number> {
    if (this.#torn) await this.#cut();
    this.#encoder.clear();
    for (const record of records) this.#encoder.add(record);
    const frame = this.#encoder.finish();
    this.#torn = true;
    await this.#file.write(frame, this.#end);
    await this.#file.datasync();
    this.#torn = false;
    this.#end += frame.length;
    return frame.length;
  }

  /** Begins a new segment. When that fails, the current one stays in use. */
  async rotate(firstRevision: number): Promise<void> {
    if (this.#segments.at(-1) === firstRevision) return;
    if (this.#torn) await this.#cut();
    const file = await beginSegment(this.#directory, this.#open, firstRevision);
    const full = this.#file;
    this.#file = file;
    this.#end = HEADER_SIZE;
    this.#segments.push(firstRevision);
    await full.close();
  }

  /** Removes the segments that hold nothing behind `revision`. */
  async removeUpTo(revision: number): Promise<void> {
    const keep = Math.max(
      0,
      this.#segments.findLastIndex((first) => first <= revision + 1),
    );
    const old = this.#segments.splice(0, keep);
    for (const first of old) await rm(filePath(this.#directory, 'log', first), { force: true });
  }

  async close(): Promise<void> {
    try {
      if (this.#torn) await this.#cut();
    } finally {
      await this.#file.close();
    }
  }

  async #cut(): Promise<void> {
    await this.#file.truncate(this.#end);
    await this.#file.datasync();
    this.#torn = false;
  }
}

async function beginSegment(
  directory: string,
  openOutput: OpenOutput,
  firstRevision: number,
): Promise<OutputFile> {
  const path = filePath(directory, 'log', firstRevision);
  const file = await openOutput(path);
  try {
    await file.truncate(0);
    await file.write(encodeHeader('log', { revision: firstRevision, count: 0 }), 0);
    await file.datasync();
    await syncDirectory(directory);
    return file;
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
}
