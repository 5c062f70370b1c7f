/** Names and headers of the files in a data directory, and the little that the store does with files. */
import { constants, fdatasync, writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { corruptFile, StoreError } from './errors.ts';

export type FileKind = 'log' | 'snapshot';

/** `log-<first revision it may hold>`, `snapshot-<revision it shows>`; padded, so that `ls` shows their order. */
export function filePath(directory: string, kind: FileKind, revision: number): string {
  return join(directory, `${kind}-${String(revision).padStart(16, '0')}`);
}

/** The revisions in the names of the files of one kind, ascending. */
export function revisionsOf(kind: FileKind, names: readonly string[]): number[] {
  const pattern = new RegExp(`^${kind}-(\\d{16})$`);
  const revisions = names.flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number);
  return revisions.sort((a, b) => a - b);
}

const FORMAT_VERSION = 1;
/** magic 8 | version 4 | revision 6 | count 4 | crc32 of all before 4 */
export const HEADER_SIZE = 26;
const MAGIC = { log: 'tidelog\n', snapshot: 'tidesnap' } as const;

interface FileHeader {
  revision: number;
  /** Number of entries of a snapshot; 0 for a log, whose number is not known when it is begun. */
  count: number;
}

export function encodeHeader(kind: FileKind, { revision, count }: FileHeader): Buffer {
  const header = Buffer.alloc(HEADER_SIZE);
  header.write(MAGIC[kind], 0, 'latin1');
  header.writeUInt32LE(FORMAT_VERSION, 8);
  header.writeUIntLE(revision, 12, 6);
  header.writeUInt32LE(count, 18);
  header.writeUInt32LE(crc32(header.subarray(0, 22)), 22);
  return header;
}

export async function readHeader(file: FileHandle, kind: FileKind, path: string): Promise<FileHeader> {
  const header = Buffer.alloc(HEADER_SIZE);
  const { bytesRead } = await file.read(header, 0, HEADER_SIZE, 0);
  if (bytesRead < 12 || header.toString('latin1', 0, 8) !== MAGIC[kind]) {
    throw corruptFile(path, 0, `it does not begin like a ${kind} file`);
  }
  const version = header.readUInt32LE(8);
  if (version > FORMAT_VERSION) {
    throw new StoreError(
      'version',
      `${path} has format ${version}, newer than the ${FORMAT_VERSION} that this program reads: use the program that wrote it, or a newer one.`,
    );
  }
  const sound = bytesRead === HEADER_SIZE && crc32(header.subarray(0, 22)) === header.readUInt32LE(22);
  if (!sound) throw corruptFile(path, 0, 'the checksum of its header is wrong');
  const revision = header.readUIntLE(12, 6);
  if (path !== filePath(dirname(path), kind, revision)) {
    throw corruptFile(path, 12, `it was written for revision ${revision}, and renamed`);
  }
  return { revision, count: header.readUInt32LE(18) };
}

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
