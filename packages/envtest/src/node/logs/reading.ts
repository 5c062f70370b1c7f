import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { LogOptions } from '../contracts.ts';
import type { AttemptFiles, PartFiles } from './files.ts';
import type { OpenLog } from './open-log.ts';
import { Times } from './times.ts';

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** A section of one file. */
interface Stretch {
  file: string;
  times: Times;
  start: number;
  end: number;
}

/** The sections of a log that the options select, before `timestamps` and `limitBytes` are applied. */
export async function chosenStretches(
  files: AttemptFiles,
  log: OpenLog | undefined,
  options: LogOptions,
  now: number,
): Promise<Stretch[]> {
  const stretches = [stretchOf(files.rotated), stretchOf(files.current, log?.times)];
  const since = sinceOf(options, now);
  if (since !== undefined) for (const part of stretches) part.start = part.times.offsetSince(since);
  const { tailLines } = options;
  let wanted = tailLines ?? Number.POSITIVE_INFINITY;
  for (const part of stretches.toReversed()) {
    const tail = wanted === Number.POSITIVE_INFINITY ? { start: 0, lines: 0 } : await tailOf(part, wanted);
    part.start = Math.max(part.start, tail.start);
    wanted -= tail.lines;
  }
  return stretches;
}

function stretchOf({ output, times: file }: PartFiles, known?: Times): Stretch {
  const times = known ?? new Times(file);
  const size = existsSync(output) ? statSync(output).size : 0;
  return { file: output, times, start: 0, end: known === undefined ? size : times.seen };
}

function sinceOf({ sinceSeconds, sinceTime }: LogOptions, now: number): number | undefined {
  if (sinceTime !== undefined) return Date.parse(sinceTime);
  return sinceSeconds === undefined ? undefined : now - sinceSeconds * 1000;
}

/** Where the last lines begin, and how many there are. The last line may be incomplete. */
async function tailOf({ file, end }: Stretch, wanted: number): Promise<{ start: number; lines: number }> {
  if (wanted <= 0 || end === 0) return { start: end, lines: 0 };
  const handle = await open(file);
  try {
    let lines = 0;
    for (let to = end; to > 0; ) {
      const from = Math.max(0, to - CHUNK_BYTES);
      const chunk = await readAt(handle, from, to - from);
      for (let i = chunk.length - 1; i >= 0; i--) {
        // A newline at the very end of the file ends the last line and begins no new one.
        if (chunk[i] !== NEWLINE || from + i === end - 1) continue;
        if (++lines === wanted) return { start: from + i + 1, lines };
      }
      to = from;
    }
    return { start: 0, lines: lines + 1 };
  } finally {
    await handle.close();
  }
}

async function readAt(handle: FileHandle, position: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, position);
  return buffer.subarray(0, bytesRead);
}

/** A piece of output, and when it was written. */
export interface Piece {
  bytes: Buffer;
  /** The time of the byte at this index. */
  timeAt(index: number): number;
}

/** Reads part of a file in pieces, each with the time at which it was written. */
export async function* readStretch({ file, times, start, end }: Stretch): AsyncGenerator<Piece> {
  if (start >= end) return;
  const handle = await open(file);
  try {
    for (let at = start; at < end; ) {
      const from = at;
      const bytes = await readAt(handle, from, Math.min(CHUNK_BYTES, end - from));
      if (bytes.length === 0) return;
      yield { bytes, timeAt: (index) => times.at(from + index) };
      at += bytes.length;
    }
  } finally {
    await handle.close();
  }
}

/** The output after `position` of the current file, until the container has ended or the reader stops. */
export async function* followLog(
  log: OpenLog,
  position: number,
  generation: number,
  signal: AbortSignal,
): AsyncGenerator<Piece> {
  const { current, rotated } = log.files;
  let at = position;
  let seen = generation;
  while (!signal.aborted) {
    const { ended } = log;
    if (log.generation !== seen) {
      // The unread rest of the previous file is in the rotated file now.
      yield* readStretch({ ...stretchOf(rotated), start: log.generation === seen + 1 ? at : 0 });
      seen++;
      if (log.generation !== seen) continue;
      at = 0;
    }
    const end = log.times.seen;
    const { times } = log;
    yield* readStretch({ file: current.output, times, start: at, end });
    at = end;
    if (log.generation !== seen || log.times.seen > at) continue;
    if (ended) return;
    await log.changed(signal);
  }
}
