/**
 * The write-ahead log: segments of frames, with one frame for each group commit. A frame is durable before `append`
 * returns. The last segment is filled with zeros in advance, because a sync that does not change the size of the file
 * saves the write of its metadata.
 *
 * Measured with durable writes of 2 KB by one writer on a 2-core virtual machine with ext4: this log makes 3,000 to
 * 4,300 writes/s (1,300 to 2,300 without the zeros), classic-level with sync 2,500 to 2,900. With 64 writers on a
 * busier machine: 19,000 to 25,000 against 2,000 to 7,600.
 */
import { rm } from 'node:fs/promises';
import { diskFailure, type OpenOutput, type OutputFile, syncDirectory } from '@tidegate/disk';
import { encodeHeader, filePath, HEADER_SIZE } from './files.ts';
import { FrameEncoder, type LogRecord } from './record.ts';

/** The amount by which the last segment is extended at once. */
const ZEROS = Buffer.alloc(256 << 10);

/** Appends frames to the last segment. Callers must not overlap calls; the commit queue guarantees that. */
export class Log {
  readonly #directory: string;
  readonly #open: OpenOutput;
  readonly #encoder = new FrameEncoder();
  /** First revisions of the segments on disk; the current segment is last. */
  #segments: number[];
  #file: OutputFile;
  /** Offset after the last intact frame. */
  #end: number;
  /** The file is filled with zeros up to this offset. */
  #filled: number;
  /** A write failed and may have left part of a frame after `#end`. It must be cut off before the next write. */
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
    this.#filled = end;
  }

  /** Starts an empty log. */
  static async create(directory: string, openOutput: OpenOutput, firstRevision: number): Promise<Log> {
    const file = await beginSegment(directory, openOutput, firstRevision);
    return new Log(directory, openOutput, [firstRevision], file, HEADER_SIZE);
  }

  /** Continues after `end` in the last of `segments`, and cuts off everything after it. */
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

  /** Makes the records durable, all or none. Returns the number of bytes written. */
  async append(records: readonly LogRecord[]): Promise<number> {
    if (this.#torn) await this.#cut();
    this.#encoder.clear();
    for (const record of records) this.#encoder.add(record);
    const frame = this.#encoder.finish();
    // Set before the first byte is written and cleared only after the sync: any failure in between is a torn write.
    this.#torn = true;
    try {
      await this.#fill(this.#end + frame.length);
      await this.#file.write(frame, this.#end);
      await this.#file.datasync();
    } catch (error) {
      // At once, because the frame may be complete: a crash before the next append would make a refused write visible. If
      // this fails too, the next append cuts first. After a failed sync nothing may be assumed to be on disk, so the next
      // append writes all of its bytes again.
      await this.#cut().catch(() => {});
      throw error;
    }
    this.#torn = false;
    this.#end += frame.length;
    return frame.length;
  }

  /** Resolves if the disk has space for more records. Call it after a failed append. */
  async probe(): Promise<void> {
    await this.#cut();
    await this.#extend(this.#end + 1);
    await this.#file.datasync();
  }

  /** Starts a new segment. If that fails, the current segment stays in use. */
  async rotate(firstRevision: number): Promise<void> {
    if (this.#segments.at(-1) === firstRevision) return;
    // Recovery tolerates bytes that are not a frame only at the end of the last segment.
    await this.#cut();
    const file = await beginSegment(this.#directory, this.#open, firstRevision);
    const full = this.#file;
    this.#file = file;
    this.#end = HEADER_SIZE;
    this.#filled = HEADER_SIZE;
    this.#segments.push(firstRevision);
    await full.close();
  }

  /** Removes the segments that contain only revisions up to `revision`. */
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
      await this.#cut();
    } finally {
      await this.#file.close();
    }
  }

  /** Removes everything after the last frame: zeros, or part of a write that failed. */
  async #cut(): Promise<void> {
    await this.#file.truncate(this.#end);
    await this.#file.datasync();
    this.#filled = this.#end;
    this.#torn = false;
  }

  /** Without space for the zeros, the frame may still fit: it is smaller, and part of the zeros may be written. */
  async #fill(end: number): Promise<void> {
    try {
      await this.#extend(end);
    } catch (error) {
      if (diskFailure(this.#directory, error).code !== 'full') throw error;
    }
  }

  async #extend(end: number): Promise<void> {
    // Frames that did not get zeros before them end after the zeros.
    this.#filled = Math.max(this.#filled, this.#end);
    while (this.#filled < end) {
      await this.#file.write(ZEROS, this.#filled);
      this.#filled += ZEROS.length;
    }
  }
}

/** Creates a segment with its header. The file and its directory entry are durable when the promise resolves. */
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
