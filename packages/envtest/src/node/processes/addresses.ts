import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { quotePath } from '@tidegate/disk';
import { Serial } from '@tidegate/kube';

interface Kept {
  /** The last number that was allocated. The next search starts after it, so that no address is reused immediately. */
  last: number;
  /** By pod uid, the number of the address within the range. */
  pods: Record<string, number>;
}

/** The first two addresses are not used: the network address, and the one that is usually the gateway. */
const FIRST = 2;

/** Allocates pod addresses from the node's podCIDR, and stores them. */
export class Addresses {
  readonly #file: string;
  #kept: Kept;
  readonly #writes = new Serial();

  private constructor(file: string, kept: Kept) {
    this.#file = file;
    this.#kept = kept;
  }

  static async open(file: string): Promise<Addresses> {
    return new Addresses(file, await readKept(file));
  }

  /** The pod's address, newly allocated if it has none; undefined when all are in use. */
  async allocate(uid: string, podCIDR: string): Promise<string | undefined> {
    const range = parseCIDR(podCIDR);
    const known = this.#kept.pods[uid];
    if (known !== undefined) return addressAt(range, known);
    const number = nextFree(this.#kept, range.size);
    if (number === undefined) return undefined;
    await this.#keep({ last: number, pods: { ...this.#kept.pods, [uid]: number } });
    return addressAt(range, number);
  }

  async release(uid: string): Promise<void> {
    if (this.#kept.pods[uid] === undefined) return;
    const { [uid]: _, ...pods } = this.#kept.pods;
    await this.#keep({ last: this.#kept.last, pods });
  }

  /** Releases the addresses of all pods. Those that are allocated next are different ones. */
  async releaseAll(): Promise<void> {
    await this.#keep({ last: this.#kept.last, pods: {} });
  }

  /** Updates the memory first, so that concurrent calls never return the same address, and then writes the file. */
  async #keep(kept: Kept): Promise<void> {
    this.#kept = kept;
    await this.#writes.run(() => writeKept(this.#file, this.#kept));
  }
}

/** A range of IPv4 addresses, as numbers. */
export interface Range {
  base: number;
  size: number;
}

export function parseCIDR(cidr: string): Range {
  const [address = '', bits = ''] = cidr.split('/');
  const base = address.split('.').reduce((number, part) => number * 256 + Number(part), 0);
  return { base, size: 2 ** (32 - Number(bits)) };
}

/** The address with this position in the range. */
export const addressAt = ({ base }: Range, number: number): string => {
  const value = base + number;
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
};

/**
 * Searches in a circle, so that an address stays unused for as long as possible. The last one is the broadcast
 * address.
 */
export function nextFree({ last, pods }: Kept, size: number): number | undefined {
  const taken = new Set(Object.values(pods));
  const count = size - 1 - FIRST;
  for (let i = 0; i < count; i++) {
    const number = FIRST + ((Math.max(last, FIRST - 1) - FIRST + 1 + i) % count);
    if (!taken.has(number)) return number;
  }
  return undefined;
}

async function readKept(file: string): Promise<Kept> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Kept;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { last: FIRST - 1, pods: {} };
    throw new Error(
      `cannot read ${quotePath(file)}: ${(error as Error).message}. Remove the file to start with new addresses.`,
      {
        cause: error,
      },
    );
  }
}

async function writeKept(file: string, kept: Kept): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(`${file}.tmp`, JSON.stringify(kept));
  await rename(`${file}.tmp`, file);
}
