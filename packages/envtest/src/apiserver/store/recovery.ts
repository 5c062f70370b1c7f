/**
 * From files to memory: the newest intact snapshot, then every log segment after it, in order.
 *
 * An incomplete record at the very end of the last segment comes from a crash during a write that was never
 * acknowledged, so it is cut off. Any other damage aborts the start, because continuing could silently lose writes that
 * clients rely on.
 */
import { open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  corruptFile,
  DiskError,
  type DiskLogger,
  hasFrameBehind,
  type OpenOutput,
  readFrames,
} from '@tidegate/disk';
import { filePath, HEADER_SIZE, readHeader, revisionsOf } from './files.ts';
import type { HistoryLimits } from './history.ts';
import { Log } from './log.ts';
import { type LogRecord, RecordDecoder } from './record.ts';
import { isUnfinishedSnapshot, readSnapshot } from './snapshot.ts';
import { INITIAL_REVISION, State } from './state.ts';

export interface Recovered {
  state: State;
  wal: Log;
  /** Bytes of log after the snapshot. */
  logBytes: number;
}

interface RecoveryOptions {
  directory: string;
  openOutput: OpenOutput;
  limits: HistoryLimits;
  log: DiskLogger;
}

/** Loads the data directory and opens its log for appending. A new directory gets an empty log. */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { directory, openOutput } = options;
  const names = await readdir(directory);
  for (const name of names.filter(isUnfinishedSnapshot)) await rm(join(directory, name));
  const segments = await withoutUnbegun(directory, revisionsOf('log', names));
  const { state, damaged } = await loadSnapshot(options, revisionsOf('snapshot', names));
  if (segments.length === 0 && state.revision === INITIAL_REVISION && damaged === undefined) {
    return { state, wal: await Log.create(directory, openOutput, INITIAL_REVISION + 1), logBytes: 0 };
  }
  // The records of older segments are part of the snapshot.
  const begin = segments.findLastIndex((first) => first <= state.revision + 1);
  if (begin === -1) throw damaged ?? missingSegment(directory, state.revision + 1);
  let logBytes = 0;
  let end = HEADER_SIZE;
  for (const first of segments.slice(begin)) {
    // A gap between two segments. If a damaged snapshot is the cause, that error helps more.
    if (first > state.revision + 1) throw damaged ?? missingSegment(directory, state.revision + 1);
    end = await replaySegment(options, state, first, first === segments.at(-1));
    logBytes += end - HEADER_SIZE;
  }
  return { state, wal: await Log.continue(directory, openOutput, segments, end), logBytes };
}

/** A crash while a segment was created leaves it without a valid header. Such a segment has no records. */
async function withoutUnbegun(directory: string, segments: number[]): Promise<number[]> {
  const last = segments.at(-1);
  if (last === undefined) return segments;
  const path = filePath(directory, 'log', last);
  const { size } = await stat(path);
  if (size > HEADER_SIZE) return segments;
  const file = await open(path, 'r');
  try {
    await readHeader(file, 'log', path);
    return segments;
  } catch (error) {
    if (error instanceof DiskError && error.code === 'corrupt') {
      await rm(path);
      return segments.slice(0, -1);
    }
    throw error;
  } finally {
    await file.close();
  }
}

/** Falls back to an older snapshot, which is as good as the newest one if the log after it is complete. */
async function loadSnapshot(
  { directory, limits, log }: RecoveryOptions,
  revisions: readonly number[],
): Promise<{ state: State; damaged?: DiskError }> {
  let damaged: DiskError | undefined;
  for (const revision of revisions.toReversed()) {
    const state = new State(limits, revision);
    try {
      await readSnapshot(directory, revision, (record) => state.load(record));
      return { state, damaged };
    } catch (error) {
      if (!(error instanceof DiskError) || error.code !== 'corrupt') throw error;
      log.error({ err: error }, 'a store snapshot is damaged; trying an older one');
      damaged ??= error;
    }
  }
  return { state: new State(limits), damaged };
}

/** Applies the records that the state does not contain yet. Returns the offset at which the intact part ends. */
async function replaySegment(
  { directory, log }: RecoveryOptions,
  state: State,
  first: number,
  isLast: boolean,
): Promise<number> {
  const path = filePath(directory, 'log', first);
  const file = await open(path, 'r');
  try {
    await readHeader(file, 'log', path);
    const decoder = new RecordDecoder();
    const end = await readFrames(file, HEADER_SIZE, (payload) =>
      decoder.decode(payload, (record) => replay(state, record)),
    );
    if (end.sound) return end.offset;
    // An acknowledged frame cannot be followed by a torn one, so intact frames after the damage prove that
    // acknowledged writes would be lost.
    if (!isLast || (await hasFrameBehind(file, end.offset))) {
      throw corruptFile(path, end.offset, 'a checksum does not match, and intact records follow it');
    }
    const { size } = await file.stat();
    log.warn({ file: path, bytes: size - end.offset }, 'cut off an incomplete write at the end of the log');
    return end.offset;
  } finally {
    await file.close();
  }
}

/** Records are idempotent: those that the snapshot already contains are skipped by their revision. */
function replay(state: State, { type, resource, entry }: LogRecord): void {
  if (entry.revision <= state.revision) return;
  const { namespace, name } = entry;
  state.apply({ type, resource, entry, previous: state.get({ resource, namespace, name }) });
}

function missingSegment(directory: string, revision: number): DiskError {
  return new DiskError(
    'corrupt',
    `the log of ${directory} is missing from revision ${revision} on. Restore the data directory from a backup, or move it away to start with an empty store.`,
  );
}
