/** Writes files with known results after a crash. */
import { constants, fdatasync, writeSync } from 'node:fs';
import { type FileHandle, open, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';

const datasync = promisify(fdatasync);

/** A file that is being written. Tests inject a full or failing disk here. */
export interface OutputFile {
  /** Writes all of `data`. */
  write(data: Buffer, position: number): Promise<void>;
  datasync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens a file for writing, and creates it if it does not exist. Never truncates it. */
export type OpenOutput = (path: string) => Promise<OutputFile>;

/** Opens a real file, readable only by its owner. Existing content is kept. */
export const openFile: OpenOutput = async (path) => {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  return {
    write: (data, position) => writeAll(file, data, position),
    datasync: () => datasync(file.fd),
    truncate: (length) => file.truncate(length),
    close: () => file.close(),
  };
};

/** Up to this size, a synchronous write to the page cache is faster than a round trip to the thread pool. */
const WRITE_AT_ONCE = 64 << 10;

async function writeAll(file: FileHandle, data: Buffer, position: number): Promise<void> {
  let written = 0;
  while (written < data.length) {
    const left = data.length - written;
    written +=
      left <= WRITE_AT_ONCE
        ? writeSync(file.fd, data, written, left, position + written)
        : (await file.write(data, written, left, position + written)).bytesWritten;
  }
}

/** What a copy leaves free, so that it does not take the space of the writes that go on meanwhile. */
const RESERVED_BYTES = 1 << 20;

/** Whether a file of this size can be written without filling the disk. */
export async function hasRoomFor(bytes: number, directory: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize >= bytes + RESERVED_BYTES;
}

/** Makes created, renamed and removed names in a directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
