import type { LogOptions } from '../contracts.ts';
import type { Piece } from './reading.ts';

const NEWLINE = 0x0a;

/** Adds the time at the start of every line, and stops at the limit. */
export async function* format(pieces: AsyncIterable<Piece>, options: LogOptions): AsyncGenerator<Buffer> {
  let left = options.limitBytes ?? Number.POSITIVE_INFINITY;
  let atLineStart = true;
  for await (const piece of pieces) {
    const bytes = options.timestamps === true ? withTimes(piece, atLineStart) : piece.bytes;
    atLineStart = piece.bytes.at(-1) === NEWLINE;
    const chunk = bytes.subarray(0, Math.min(bytes.length, left));
    left -= chunk.length;
    if (chunk.length > 0) yield chunk;
    if (left === 0) return;
  }
}

function withTimes({ bytes, timeAt }: Piece, atLineStart: boolean): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline < 0 ? bytes.length : newline + 1;
    if (start > 0 || atLineStart) parts.push(Buffer.from(`${rfc3339Nano(timeAt(start))} `));
    parts.push(bytes.subarray(start, end));
    start = end;
  }
  return Buffer.concat(parts);
}

/** With nine digits, like the kubelet. */
const rfc3339Nano = (moment: number): string => new Date(moment).toISOString().replace('Z', '000000Z');
