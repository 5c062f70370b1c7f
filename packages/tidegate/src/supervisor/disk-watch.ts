import { freeBytes, LOW_BYTES, quotePath } from '@tidegate/disk';
import { type Clock, systemClock } from '@tidegate/kube';
import { SupervisorError } from './error.ts';

const EVERY_MS = 5_000;

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
    find: FreeBytes = freeBytes,
  ) {
    this.#directory = directory;
    this.#report = report;
    this.#clock = clock;
    this.#freeBytes = find;
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
      return `cannot use the state directory ${quotePath(this.#directory)}: ${(error as Error).message}`;
    }
    if (free >= LOW_BYTES) return undefined;
    return `${leftText(free, this.#directory)}: writes to the cluster are refused when they do not fit, and logs have gaps. Free some space, and the cluster recovers by itself`;
  }

  async #look(): Promise<void> {
    const warning = await this.warning();
    if (this.#closed || (warning !== undefined) === this.#low) return;
    this.#low = warning !== undefined;
    this.#report(warning ?? `the file system of ${quotePath(this.#directory)} has space again`);
  }
}

const leftText = (free: number, directory: string): string =>
  `${free === 0 ? 'no space' : `only ${Math.ceil(free / 1024)} KiB`} left on the file system of ${quotePath(directory)}`;

/** What a new cluster writes before it is ready, with some reserve: the example with its five nodes takes 3.2 MiB. */
const NEW_CLUSTER_BYTES = 4 << 20;
const NEW_NODE_BYTES = 512 << 10;
/** A cluster that resumes writes little, but with less it would refuse writes from the beginning. */
const RESUMED_CLUSTER_BYTES = 2 * LOW_BYTES;

/** Throws if a cluster cannot be started, before any of its processes finds that out. */
export async function requireSpace(
  directory: string,
  { isNew, nodes }: { isNew: boolean; nodes: number },
  readFree: FreeBytes = freeBytes,
): Promise<void> {
  const needed = isNew ? NEW_CLUSTER_BYTES + nodes * NEW_NODE_BYTES : RESUMED_CLUSTER_BYTES;
  const free = await readFree(directory);
  if (free >= needed) return;
  throw new SupervisorError(
    `${leftText(free, directory)}, and ${isNew ? 'a new cluster' : 'the cluster'} needs ${needed / 2 ** 20} MiB to start: free some space, or choose another directory with --state`,
  );
}
