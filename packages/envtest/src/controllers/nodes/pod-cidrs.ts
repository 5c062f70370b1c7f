/** The cluster CIDR cannot be used; the message says what is required. */
export class ClusterCidrError extends Error {
  override readonly name = 'ClusterCidrError';
}

/**
 * Allocates blocks of the cluster CIDR to nodes, for the addresses of their pods. The first block is never
 * allocated, because it contains the addresses of the nodes themselves. IPv4 only.
 */
export class PodCidrs {
  readonly #base: number;
  readonly #mask: number;
  readonly #count: number;
  readonly #blockOf = new Map<string, number>();
  readonly #holders = new Map<number, Set<string>>();
  /** Where the next search starts, so that a released block is not reused immediately. */
  #next = 1;

  constructor(clusterCidr: string, mask = 24) {
    const range = parseCidr(clusterCidr);
    if (range === undefined || range.mask > mask) {
      throw new ClusterCidrError(
        `cluster CIDR ${JSON.stringify(clusterCidr)} must be an IPv4 range of /${mask} or larger, for example 10.244.0.0/16`,
      );
    }
    this.#base = range.address;
    this.#mask = mask;
    this.#count = 2 ** (mask - range.mask);
  }

  /** Records that the node has this block. A block outside the cluster CIDR is ignored. */
  hold(nodeName: string, cidr: string): void {
    this.release(nodeName);
    const block = this.#indexOf(cidr);
    if (block === undefined) return;
    this.#blockOf.set(nodeName, block);
    const holders = this.#holders.get(block);
    if (holders === undefined) this.#holders.set(block, new Set([nodeName]));
    else holders.add(nodeName);
  }

  release(nodeName: string): void {
    const block = this.#blockOf.get(nodeName);
    if (block === undefined) return;
    this.#blockOf.delete(nodeName);
    const holders = this.#holders.get(block);
    holders?.delete(nodeName);
    if (holders?.size === 0) this.#holders.delete(block);
  }

  /** Allocates a block to the node, or returns the one it has; undefined when all blocks are in use. */
  allocate(nodeName: string): string | undefined {
    const held = this.#blockOf.get(nodeName);
    if (held !== undefined) return this.#cidrOf(held);
    for (let tried = 0; tried < this.#count; tried++) {
      const block = (this.#next + tried) % this.#count;
      if (block === 0 || this.#holders.has(block)) continue;
      this.#next = block + 1;
      const cidr = this.#cidrOf(block);
      this.hold(nodeName, cidr);
      return cidr;
    }
    return undefined;
  }

  #cidrOf(block: number): string {
    const address = this.#base + block * 2 ** (32 - this.#mask);
    const bytes = [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256);
    return `${bytes.join('.')}/${this.#mask}`;
  }

  #indexOf(cidr: string): number | undefined {
    const parsed = parseCidr(cidr);
    if (parsed === undefined) return undefined;
    const block = Math.floor((parsed.address - this.#base) / 2 ** (32 - this.#mask));
    return block >= 0 && block < this.#count ? block : undefined;
  }
}

function parseCidr(text: string): { address: number; mask: number } | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\/(\d{1,2})$/.exec(text);
  if (match === null) return undefined;
  const [a = 0, b = 0, c = 0, d = 0, mask = 0] = match.slice(1).map(Number);
  if ([a, b, c, d].some((byte) => byte > 255) || mask > 32) return undefined;
  const address = ((a * 256 + b) * 256 + c) * 256 + d;
  return { address: address - (address % 2 ** (32 - mask)), mask };
}
