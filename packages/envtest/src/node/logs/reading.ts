import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import type { LogOptions } from '../contracts.ts';
import type { AttemptFiles } from './files.ts';
import type { OpenLog } from './open-log.ts';
import { Times } from './times.ts';

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** A log that is read: its files, and what is known about it while its container runs. */
export interface Source {
  readonly files: AttemptFiles;
  readonly log?: OpenLog;
}

/**
 * A section of the output between two rotations. A rotation may take place while it is read, and moves what was in the
 * current file to the rotated one. Therefore a section is known by its generation, and not by a file.
 */
interface Stretch {
  generation: number;
  times: Times;
  start: number;
  end: number;
}

/** The sections of a log that the options select, before `timestamps` and `limitBytes` are applied. */
export function chosenStretches(source: Source, options: LogOptions, now: number): [Stretch, Stretch] {
  const stretches: [Stretch, Stretch] = [rotatedStretch(source), currentStretch(source)];
  const since = sinceOf(options, now);
  if (since !== undefined) for (const part of stretches) part.start = part.times.offsetSince(since);
  const { tailLines } = options;
  let wanted = tailLines ?? Number.POSITIVE_INFINITY;
  for (const part of stretches.toReversed()) {
    const tail = wanted === Number.POSITIVE_INFINITY ? { start: 0, lines: 0 } : tailOf(source, part, wanted);
    part.start = Math.max(part.start, tail.start);
    wanted -= tail.lines;
  }
  return stretches;
}

function rotatedStretch({ files: { rotated }, log }: Source): Stretch {
  return {
    generation: generationOf(log) - 1,
    times: new Times(rotated.times),
    start: 0,
    end: sizeOf(rotated.output),
  };
}

function currentStretch({ files: { current }, log }: Source): Stretch {
  const times = log?.times ?? new Times(current.times);
  return {
    generation: generationOf(log),
    times,
    start: 0,
    end: log === undefined ? sizeOf(current.output) : times.seen,
  };
}

const generationOf = (log: OpenLog | undefined): number => log?.generation ?? 0;
const sizeOf = (file: string): number => (existsSync(file) ? statSync(file).size : 0);

function sinceOf({ sinceSeconds, sinceTime }: LogOptions, now: number): number | undefined {
  if (sinceTime !== undefined) return Date.parse(sinceTime);
  return sinceSeconds === undefined ? undefined : now - sinceSeconds * 1000;
}

/** Where the last lines begin, and how many there are. The last line may be incomplete. */
function tailOf(
  source: Source,
  { generation, end }: Stretch,
  wanted: number,
): { start: number; lines: number } {
  if (wanted <= 0 || end === 0) return { start: end, lines: 0 };
  let lines = 0;
  for (let to = end; to > 0; ) {
    const from = Math.max(0, to - CHUNK_BYTES);
    const chunk = readAt(source, generation, from, to - from);
    for (let i = chunk.length - 1; i >= 0; i--) {
      // A newline at the very end of the file ends the last line and begins no new one.
      if (chunk[i] !== NEWLINE || from + i === end - 1) continue;
      if (++lines === wanted) return { start: from + i + 1, lines };
    }
    to = from;
  }
  return { start: 0, lines: lines + 1 };
}

/**
 * Reads bytes that were written in a generation. A rotation runs in this process, so it cannot take place between the
 * choice of the file and the end of the read: nothing here waits. The result is empty if the log was rotated twice since.
 */
function readAt({ files, log }: Source, generation: number, position: number, length: number): Buffer {
  const age = generationOf(log) - generation;
  if (age > 1) return Buffer.alloc(0);
  const file = openSync(age === 0 ? files.current.output : files.rotated.output, 'r');
  try {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(file, buffer, 0, length, position));
  } finally {
    closeSync(file);
  }
}

/** A piece of output, and when it was written. */
export interface Piece {
  bytes: Buffer;
  /** The time of the byte at this index. */
  timeAt(index: number): number;
}

/** Reads a section in pieces, each with the time at which it was written. */
export function* readStretch(source: Source, { generation, times, start, end }: Stretch): Generator<Piece> {
  for (let at = start; at < end; ) {
    const from = at;
    const bytes = readAt(source, generation, from, Math.min(CHUNK_BYTES, end - from));
    if (bytes.length === 0) return;
    at += bytes.length;
    yield { bytes, timeAt: (index) => times.at(from + index) };
  }
}

/** The output after a section, until the container has ended or the reader stops. */
export async function* followLog(log: OpenLog, after: Stretch, signal: AbortSignal): AsyncGenerator<Piece> {
  const source: Source = { files: log.files, log };
  let { generation, times, end: at } = after;
  while (!signal.aborted) {
    const { ended } = log;
    // The times of a generation are complete once the next one has begun.
    const end = times.seen;
    yield* readStretch(source, { generation, times, start: at, end });
    at = end;
    if (times.seen > at) continue;
    if (log.generation === generation) {
      if (ended) return;
      await log.changed(signal);
    } else if (log.generation === generation + 1) {
      ({ generation, times } = log);
      at = 0;
    } else {
      // The reader is too slow: what lies between was rotated away. It goes on with what is left.
      generation = log.generation - 1;
      times = new Times(log.files.rotated.times);
      at = 0;
    }
  }
}
