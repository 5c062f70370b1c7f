import { statfs } from 'node:fs/promises';
import { type Clock, systemClock } from '@tidegate/kube';

const EVERY_MS = 5_000;
/** With less than this, programs begin to fail to write, each with its own error. */
const LOW_BYTES = 1 << 20;

/** Reads how many bytes a user can still write in a directory. */
type FreeBytes = (directory: string) => Promise<number>;

/**
 * Looks at the free space of the state directory, where all programs of a cluster write. Reports once when it is used up,
 * and once when there is space again, because the logs of the programs are on the same disk and may say nothing.
 */
export class DiskWatch {
  readonly #directory: string;
  readonly #report: (line: string) => void;
  readonly #clock: Clock;
  readonly #freeBytes: FreeBytes;
  #cancel: () => void = () => {};
  #closed = false;
  #low = false;

  constructor(
    directory: string,
    report: (line: string) => void,
    clock: Clock = systemClock,
    freeBytes: FreeBytes = freeBytesOf,
  ) {
    this.#directory = directory;
    this.#report = report;
    this.#clock = clock;
    this.#freeBytes = freeBytes;
  }

  run(): void {
    if (this.#closed) return;
    this.#cancel = this.#clock.after(EVERY_MS, () => void this.#look().then(() => this.run()));
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  /** What is wrong with the disk now; undefined if nothing is. */
  async warning(): Promise<string | undefined> {
    let free: number;
    try {
      free = await this.#freeBytes(this.#directory);
    } catch (error) {
      return `cannot use the state directory ${this.#directory}: ${(error as Error).message}`;
    }
    if (free >= LOW_BYTES) return undefined;
    const left = free === 0 ? 'no space' : `only ${Math.ceil(free / 1024)} KiB`;
    return `${left} left on the file system of ${this.#directory}: writes to the cluster are refused when they do not fit, and logs have gaps; reads and front doors work. Free some space, and the cluster recovers by itself`;
  }

  async #look(): Promise<void> {
    const warning = await this.warning();
    if (this.#closed || (warning !== undefined) === this.#low) return;
    this.#low = warning !== undefined;
    this.#report(warning ?? `the file system of ${this.#directory} has space again`);
  }
}

async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
