/** The file of a DurableMap: a header, followed by frames that are appended one by one and read at random positions. */
import { readSync } from 'node:fs';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { corruptFile, DiskError } from './errors.ts';
import { hasFrameBehind, readFrames } from './frame.ts';
import type { DiskLogger } from './logger.ts';
import { decodeMapFrame, type PlacedChange } from './map-frame.ts';
import { type OpenOutput, type OutputFile, syncDirectory } from './output-file.ts';

const MAGIC = 'tidemap\n';
const FORMAT_VERSION = 1;
/** magic 8 | version 4 | crc32 of both 4 */
const HEADER_SIZE = 16;
/** Up to this size, a synchronous read from the page cache is faster than a round trip to the thread pool. */
const READ_AT_ONCE = 64 << 10;

/** A file with this suffix is unfinished and ignored. */
export const draftOf = (path: string): string => `${path}.tmp`;

/** One file of a DurableMap: appends frames, and reads values by their position. */
export class MapFile {
  readonly #output: OutputFile;
  readonly #input: FileHandle;
  #path: string;
  #end: number;
  /** After a failed write, part of it may follow `#end`, and must be cut off before the next write. */
  #torn = false;
  /**
   * The file was renamed: until the directory is synced, a power failure may bring back the previous file of that
   * name.
   */
  #nameUnsynced = false;
  #reads = 0;
  #retired = false;

  private constructor(path: string, output: OutputFile, input: FileHandle, end: number) {
    this.#path = path;
    this.#output = output;
    this.#input = input;
    this.#end = end;
  }

  /** Creates a draft that has only a header; `publish` gives it its final name. */
  static async draft(path: string, openOutput: OpenOutput): Promise<MapFile> {
    const draft = draftOf(path);
    const output = await openOutput(draft);
    try {
      await output.truncate(0);
      await output.write(header(), 0);
      return new MapFile(draft, output, await open(draft, 'r'), HEADER_SIZE);
    } catch (error) {
      await output.close();
      await rm(draft, { force: true });
      throw error;
    }
  }

  /** Opens an existing file, calls back for every change in it, and cuts off a frame that a crash left incomplete. */
  static async recover(
    path: string,
    openOutput: OpenOutput,
    log: DiskLogger,
    onChange: (change: PlacedChange) => void,
  ): Promise<MapFile> {
    const input = await open(path, 'r');
    let output: OutputFile | undefined;
    try {
      await checkHeader(input, path);
      const end = await replay(input, path, log, onChange);
      output = await openOutput(path);
      const file = new MapFile(path, output, input, end);
      await file.#cut();
      return file;
    } catch (error) {
      await output?.close();
      await input.close();
      throw error;
    }
  }

  /** The position of the next frame. */
  get end(): number {
    return this.#end;
  }

  /** Writes frames, or parts of frames. They are durable only after `sync`. */
  async write(frames: Buffer): Promise<void> {
    if (this.#torn) await this.#cut();
    this.#torn = true;
    await this.#output.write(frames, this.#end);
    this.#end += frames.length;
    this.#torn = false;
  }

  async sync(): Promise<void> {
    if (this.#nameUnsynced) {
      await syncDirectory(dirname(this.#path));
      this.#nameUnsynced = false;
    }
    await this.#output.datasync();
  }

  /** Appends a frame durably, or not at all. */
  async append(frame: Buffer): Promise<void> {
    const before = this.#end;
    try {
      await this.write(frame);
      await this.sync();
    } catch (error) {
      this.#end = before;
      this.#torn = true;
      // At once, because the frame may be complete, and a crash would make it visible. If this fails too, the next write
      // cuts first.
      await this.#cut().catch(() => {});
      throw error;
    }
  }

  async read(offset: number, length: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(length);
    this.#reads += 1;
    try {
      let filled = 0;
      while (filled < length) {
        const left = length - filled;
        const count =
          length <= READ_AT_ONCE
            ? readSync(this.#input.fd, bytes, filled, left, offset + filled)
            : (await this.#input.read(bytes, filled, left, offset + filled)).bytesRead;
        if (count === 0) throw corruptFile(this.#path, offset + filled, 'it ends too early');
        filled += count;
      }
      return bytes;
    } finally {
      this.#reads -= 1;
      if (this.#retired && this.#reads === 0) await this.#input.close();
    }
  }

  /** Renames the draft to the final name, replacing the previous file. */
  async publish(path: string): Promise<void> {
    await this.#output.datasync();
    await rename(this.#path, path);
    this.#path = path;
    this.#nameUnsynced = true;
  }

  /** Closes the file after running reads have finished; no more writes are accepted. */
  async close(): Promise<void> {
    this.#retired = true;
    await this.#output.close();
    if (this.#reads === 0) await this.#input.close();
  }

  async discard(): Promise<void> {
    await this.close();
    await rm(this.#path, { force: true });
  }

  async #cut(): Promise<void> {
    await this.#output.truncate(this.#end);
    await this.#output.datasync();
    this.#torn = false;
  }
}

function header(): Buffer {
  const bytes = Buffer.alloc(HEADER_SIZE);
  bytes.write(MAGIC, 0, 'latin1');
  bytes.writeUInt32LE(FORMAT_VERSION, 8);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 12)), 12);
  return bytes;
}

async function checkHeader(input: FileHandle, path: string): Promise<void> {
  const bytes = Buffer.alloc(HEADER_SIZE);
  const { bytesRead } = await input.read(bytes, 0, HEADER_SIZE, 0);
  const sound = bytesRead === HEADER_SIZE && crc32(bytes.subarray(0, 12)) === bytes.readUInt32LE(12);
  if (!sound || bytes.toString('latin1', 0, 8) !== MAGIC) {
    throw corruptFile(path, 0, 'it does not start with the header of this file format');
  }
  const version = bytes.readUInt32LE(8);
  if (version === FORMAT_VERSION) return;
  throw new DiskError(
    'version',
    `${path} has format ${version}, this program supports format ${FORMAT_VERSION}: use the version of the program that wrote the file, or a newer one.`,
  );
}

/** Returns where the intact part ends. */
async function replay(
  input: FileHandle,
  path: string,
  log: DiskLogger,
  onChange: (change: PlacedChange) => void,
): Promise<number> {
  const end = await readFrames(input, HEADER_SIZE, (payload, offset) => {
    try {
      decodeMapFrame(payload, offset, onChange);
    } catch (error) {
      throw corruptFile(path, offset, 'its records do not fit their frame', error);
    }
  });
  if (end.sound) return end.offset;
  if (await hasFrameBehind(input, end.offset)) {
    throw corruptFile(path, end.offset, 'a checksum is wrong, and intact frames follow');
  }
  const { size } = await input.stat();
  log.warn({ file: path, bytes: size - end.offset }, 'cut off a write that a crash left unfinished');
  return end.offset;
}
