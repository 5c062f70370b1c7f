/** Snapshots: the whole state at one revision, so that older log segments can go. */
import { open, rename, rm } from 'node:fs/promises';
import { corruptFile, type OpenOutput, type OutputFile, readFrames, syncDirectory } from '@tidegate/disk';
import { encodeHeader, filePath, HEADER_SIZE, readHeader } from './files.ts';
import { FrameEncoder, type LogRecord, RecordDecoder } from './record.ts';
import type { Entry } from './types.ts';

const FRAME_BYTES = 256 << 10;
/** Syncing along the way keeps the log's own syncs from waiting behind one huge one. */
const SYNC_BYTES = 4 << 20;

const UNFINISHED_SUFFIX = '.tmp';

/** Whether a file is what a crash left of a snapshot. */
export function isUnfinishedSnapshot(name: string): boolean {
  return name.startsWith('snapshot-') && name.endsWith(UNFINISHED_SUFFIX);
}

export interface SnapshotContent {
  revision: number;
  entries: ReadonlyMap<string, readonly Entry[]>;
}

/** Writes a snapshot piece by piece, so that the process keeps serving; it counts once it has its name. */
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

/** Reads a snapshot; throws a `corrupt` error when anything of it is damaged or missing. */
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
    if (!end.sound) throw corruptFile(path, end.offset, 'a checksum is wrong');
    if (read !== count) throw corruptFile(path, end.offset, `it has ${read} of ${count} objects`);
  } finally {
    await file.close();
  }
}
