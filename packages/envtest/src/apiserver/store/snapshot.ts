/** Snapshots: the whole state at one revision. They make older log segments unnecessary. */
import { open, rename, rm } from 'node:fs/promises';
import { corruptFile, type OpenOutput, type OutputFile, readFrames, syncDirectory } from '@tidegate/disk';
import { encodeHeader, filePath, HEADER_SIZE, readHeader } from './files.ts';
import { FrameEncoder, type LogRecord, RecordDecoder } from './record.ts';
import type { Entry } from './types.ts';

/** Target size of a frame. Each frame has its own checksum. */
const FRAME_BYTES = 256 << 10;
/** Syncing in portions keeps the syncs of the log from waiting behind one very large sync. */
const SYNC_BYTES = 4 << 20;

const UNFINISHED_SUFFIX = '.tmp';

/** Whether the file is an incomplete snapshot that a crash left behind. */
export function isUnfinishedSnapshot(name: string): boolean {
  return name.startsWith('snapshot-') && name.endsWith(UNFINISHED_SUFFIX);
}

/** All entries by resource at one revision. */
export interface SnapshotContent {
  revision: number;
  entries: ReadonlyMap<string, readonly Entry[]>;
}

/**
 * Writes a snapshot in pieces, so that the process keeps serving requests. The snapshot is valid only once the file is
 * complete and synced, so it gets its final name last; a rename is atomic.
 */
export async function writeSnapshot(
  directory: string,
  openOutput: OpenOutput,
  content: SnapshotContent,
  signal: AbortSignal,
): Promise<void> {
  const path = filePath(directory, 'snapshot', content.revision);
  const draft = path + UNFINISHED_SUFFIX;
  const file = await openOutput(draft);
  try {
    try {
      await file.truncate(0);
      await writeContent(file, content, signal);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncDirectory(directory);
}

async function writeContent(
  file: OutputFile,
  { revision, entries }: SnapshotContent,
  signal: AbortSignal,
): Promise<void> {
  let count = 0;
  for (const list of entries.values()) count += list.length;
  await file.write(encodeHeader('snapshot', { revision, count }), 0);
  let position = HEADER_SIZE;
  let synced = 0;
  for (const frame of framesOf(entries)) {
    signal.throwIfAborted();
    await file.write(frame, position);
    position += frame.length;
    if (position - synced >= SYNC_BYTES) {
      await file.datasync();
      synced = position;
    }
  }
}

/**
 * Yields frames one by one, so that memory holds only one encoded frame at a time. Each frame is valid until the
 * next.
 */
function* framesOf(entries: SnapshotContent['entries']): Generator<Buffer> {
  const encoder = new FrameEncoder();
  for (const [resource, list] of entries) {
    for (const entry of list) {
      encoder.add({ type: 'put', resource, entry });
      if (encoder.length >= FRAME_BYTES) yield encoder.finish();
    }
  }
  yield encoder.finish();
}

/** Reads a snapshot. Throws a `corrupt` error if any part of it is damaged or missing. */
export async function readSnapshot(
  directory: string,
  revision: number,
  onRecord: (record: LogRecord) => void,
): Promise<void> {
  const path = filePath(directory, 'snapshot', revision);
  const file = await open(path, 'r');
  try {
    const { count } = await readHeader(file, 'snapshot', path);
    const decoder = new RecordDecoder();
    let read = 0;
    const end = await readFrames(file, HEADER_SIZE, (payload) =>
      decoder.decode(payload, (record) => {
        read += 1;
        onRecord(record);
      }),
    );
    if (!end.sound) throw corruptFile(path, end.offset, 'a checksum does not match');
    if (read !== count) throw corruptFile(path, end.offset, `it contains ${read} of ${count} objects`);
  } finally {
    await file.close();
  }
}
