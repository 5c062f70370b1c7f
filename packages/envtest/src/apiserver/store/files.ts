/** Names and headers of the files in the data directory. */
import type { FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { corruptFile, DiskError } from '@tidegate/disk';

export type FileKind = 'log' | 'snapshot';

/** `log-<first revision>` and `snapshot-<revision>`. The number is padded so that `ls` lists the files in order. */
export function filePath(directory: string, kind: FileKind, revision: number): string {
  return join(directory, `${kind}-${String(revision).padStart(16, '0')}`);
}

/** The revisions in the names of all files of one kind, ascending. */
export function revisionsOf(kind: FileKind, names: readonly string[]): number[] {
  const pattern = new RegExp(`^${kind}-(\\d{16})$`);
  const revisions = names.flatMap((name) => pattern.exec(name)?.[1] ?? []).map(Number);
  return revisions.sort((a, b) => a - b);
}

const FORMAT_VERSION = 1;
/** Layout: magic 8 bytes, version 4, revision 6, count 4, CRC-32 of the preceding bytes 4. */
export const HEADER_SIZE = 26;
const MAGIC = { log: 'tidelog\n', snapshot: 'tidesnap' } as const;

interface FileHeader {
  revision: number;
  /** Number of entries in a snapshot. Always 0 in a log, whose length is not known when its header is written. */
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

/**
 * Checks magic, version, checksum and name of a file. Throws a DiskError: `corrupt`, or `version` for a newer format.
 */
export async function readHeader(file: FileHandle, kind: FileKind, path: string): Promise<FileHeader> {
  const header = Buffer.alloc(HEADER_SIZE);
  const { bytesRead } = await file.read(header, 0, HEADER_SIZE, 0);
  if (bytesRead < 12 || header.toString('latin1', 0, 8) !== MAGIC[kind]) {
    throw corruptFile(path, 0, `it does not start with the header of a ${kind} file`);
  }
  const version = header.readUInt32LE(8);
  // Checked before the checksum, because a newer format may have another header.
  if (version > FORMAT_VERSION) {
    throw new DiskError(
      'version',
      `${path} has format ${version}, but this program reads formats up to ${FORMAT_VERSION}: use a newer version of the program.`,
    );
  }
  const sound = bytesRead === HEADER_SIZE && crc32(header.subarray(0, 22)) === header.readUInt32LE(22);
  if (!sound) throw corruptFile(path, 0, 'the checksum of its header is wrong');
  const revision = header.readUIntLE(12, 6);
  if (path !== filePath(dirname(path), kind, revision)) {
    throw corruptFile(path, 12, `its header is for revision ${revision}, so the file was renamed`);
  }
  return { revision, count: header.readUInt32LE(18) };
}
