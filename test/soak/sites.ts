/** The intended state of the nodes: their pool, and whether their link is cut. */

/** How long the routers of a pool may still use a node that has left it. */
const MOVE_MS = 20_000;

export interface Site {
  readonly name: string;
  readonly address: string;
  readonly home: string;
  pool: string;
  cutAt: number | undefined;
  /** Whether the front door of a pool may respond from a pod on this node. */
  readonly mayRespond: (pool: string, node: string) => boolean;
}

export class Sites {
  readonly all: readonly Site[];
  /** The pools that nodes have left recently. */
  readonly #left = new Map<string, { pool: string; until: number }>();

  constructor(nodes: { name: string; address: string; pool: string }[]) {
    const mayRespond = (pool: string, node: string): boolean => this.#isOrWasIn(pool, node);
    this.all = nodes.map(({ pool, ...node }) => ({
      ...node,
      home: pool,
      pool,
      cutAt: undefined,
      mayRespond,
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

  /** Whether none, all or some of the pool's links are cut. */
  linkOf(pool: string): 'up' | 'cut' | 'partial' {
    const cut = this.of(pool).filter(({ cutAt }) => cutAt !== undefined).length;
    if (cut === 0) return 'up';
    return cut === this.of(pool).length ? 'cut' : 'partial';
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
