/** Writing files so that it is known what a crash leaves of them. */
import { constants, fdatasync, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { promisify } from 'node:util';

const datasync = promisify(fdatasync);

/** A file being written. Tests put a full or failing disk behind it. */
export interface OutputFile {
  /** Writes all of `data`. */
  write(data: Buffer, position: number): Promise<void>;
  datasync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens a file for writing, and makes it when it is not there; never cuts what is in it. */
export type OpenOutput = (path: string) => Promise<OutputFile>;

export const openFile: OpenOutput = async (path) => {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  return {
    write: (data, position) => writeAll(file, data, position),
    datasync: () => datasync(file.fd),
    truncate: (length) => file.truncate(length),
    close: () => file.close(),
  };
};

/** Copying this much into the page cache takes less time than handing the job to another thread and back. */
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

/** Makes names that were created, renamed or removed in a directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
