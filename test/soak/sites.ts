/** The nodes as the soak means them to be: which pool they are in, and whether their link is cut. */

/** Routers of a pool hear that a node has left it a moment after; those who can not hear it go on without. */
const MOVE_MS = 20_000;

export interface Site {
  readonly name: string;
  readonly address: string;
  readonly home: string;
  pool: string;
  cutAt: number | undefined;
  /** Whether the front door of a pool may answer with what stands on this node. */
  readonly mayHear: (pool: string, node: string) => boolean;
}

export class Sites {
  readonly all: readonly Site[];
  /** Where nodes were until a moment ago. */
  readonly #left = new Map<string, { pool: string; until: number }>();

  constructor(nodes: { name: string; address: string; pool: string }[]) {
    const mayHear = (pool: string, node: string): boolean => this.#isOrWasIn(pool, node);
    this.all = nodes.map(({ pool, ...node }) => ({
      ...node,
      home: pool,
      pool,
      cutAt: undefined,
      mayHear,
    }));
  }

  get pools(): string[] {
    return [...new Set(this.all.map(({ home }) => home))];
  }

  of(pool: string): Site[] {
    return this.all.filter((site) => site.pool === pool);
  }

  addressesOf(pool: string): string[] {
    return this.of(pool).map(({ address }) => address);
  }

  move(site: Site, pool: string): void {
    this.#left.set(site.name, { pool: site.pool, until: performance.now() + MOVE_MS });
    site.pool = pool;
  }

  /** How much of a pool has no link. */
  linkOf(pool: string): 'up' | 'cut' | 'partly' {
    const cut = this.of(pool).filter(({ cutAt }) => cutAt !== undefined).length;
    if (cut === 0) return 'up';
    return cut === this.of(pool).length ? 'cut' : 'partly';
  }

  get anyCut(): boolean {
    return this.all.some(({ cutAt }) => cutAt !== undefined);
  }

  #isOrWasIn(pool: string, node: string): boolean {
    const site = this.all.find(({ name }) => name === node);
    const left = this.#left.get(node);
    return site?.pool === pool || (left?.pool === pool && performance.now() < left.until);
  }
}
