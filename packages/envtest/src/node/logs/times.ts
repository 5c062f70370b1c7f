import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { isDiskErrno } from '@tidegate/disk';

const RECORD_BYTES = 16;

/**
 * When the bytes of a file were first seen. A process writes its output by itself, so the only thing known is that
 * the file had a certain size at a certain time. These records are stored next to the output, so that they survive
 * the agent.
 */
export class Times {
  readonly #file: string;
  readonly #sizes: number[] = [];
  readonly #moments: number[] = [];
  /** Records that are not in the file yet, because the disk was full. */
  #unwritten = Buffer.alloc(0);

  constructor(file: string) {
    this.#file = file;
    const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
    for (let at = 0; at + RECORD_BYTES <= bytes.length; at += RECORD_BYTES) {
      this.#sizes.push(bytes.readDoubleLE(at));
      this.#moments.push(bytes.readDoubleLE(at + 8));
    }
  }

  /** How much of the file has been seen. */
  get seen(): number {
    return this.#sizes.at(-1) ?? 0;
  }

  record(size: number, moment: number): void {
    const bytes = Buffer.alloc(RECORD_BYTES);
    bytes.writeDoubleLE(size, 0);
    bytes.writeDoubleLE(moment, 8);
    this.#sizes.push(size);
    this.#moments.push(moment);
    this.#unwritten = Buffer.concat([this.#unwritten, bytes]);
    try {
      this.write();
    } catch (error) {
      // Logs can be read without it. The next record tries again.
      if (!isDiskErrno(error)) throw error;
    }
  }

  /** Writes what is not in the file yet. */
  write(): void {
    if (this.#unwritten.length === 0) return;
    appendFileSync(this.#file, this.#unwritten, { mode: 0o600 });
    this.#unwritten = Buffer.alloc(0);
  }

  /** When the byte at this offset was seen. */
  at(offset: number): number {
    const index = firstIndex(this.#sizes, (size) => size > offset);
    return this.#moments[Math.min(index, this.#moments.length - 1)] ?? 0;
  }

  /** The offset of the first byte that was seen at or after this time. */
  offsetSince(moment: number): number {
    const index = firstIndex(this.#moments, (seen) => seen >= moment);
    return index === 0 ? 0 : this.#sizes[index - 1]!;
  }
}

/** The first index whose value satisfies a condition that all later values satisfy too. */
function firstIndex(values: readonly number[], condition: (value: number) => boolean): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (condition(values[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}
