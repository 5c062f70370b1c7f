import type { Change, NodeRow, Row, RowKind } from './wire.ts';

/** Nodes and front doors outside of all pools. */
export const CLOUD = 'cloud';

/** Identifies a pool, for example `NodePool/hangzhou`. */
export type PoolId = string;

const POOL_KINDS = ['NodePool', 'NodeGroup'] as const;

/** What a batch of changes affects. */
export class Changed {
  readonly kinds = new Set<RowKind>();
  readonly pools = new Set<PoolId>();
}

type RowOf<K extends RowKind> = Extract<Row, { kind: K }>;

/** The rows of the cluster. A change costs what it touches: indexes know the nodes and front doors of each pool. */
export class Store {
  readonly #rows = new Map<RowKind, Map<string, Row>>();
  readonly #members = new Map<PoolId, Map<RowKind, Set<string>>>();

  all<K extends RowKind>(kind: K): RowOf<K>[] {
    return [...(this.#rows.get(kind)?.values() ?? [])] as RowOf<K>[];
  }

  get<K extends RowKind>(kind: K, key: string): RowOf<K> | undefined {
    return this.#rows.get(kind)?.get(key) as RowOf<K> | undefined;
  }

  /** The rows of this kind in a pool, sorted by name. */
  inPool<K extends 'Node' | 'L7Router'>(kind: K, pool: PoolId): RowOf<K>[] {
    const keys = [...(this.#members.get(pool)?.get(kind) ?? [])].sort(byName);
    return keys.flatMap((key) => this.get(kind, key) ?? []);
  }

  /** All pools that have an object or nodes, sorted by name. */
  pools(): PoolId[] {
    const ids = POOL_KINDS.flatMap((kind) => this.all(kind).map(({ key }) => `${kind}/${key}`));
    return ids.sort((a, b) => byName(nameOfPool(a), nameOfPool(b)));
  }

  hasPool(id: PoolId): boolean {
    const [kind, name = ''] = id.split('/');
    return this.get(kind as RowKind, name) !== undefined;
  }

  clear(): void {
    this.#rows.clear();
    this.#members.clear();
  }

  apply({ put = [], drop = [] }: Change, changed: Changed): void {
    for (const { kind, key } of drop) this.#replace(kind, key, undefined, changed);
    for (const row of put) this.#replace(row.kind, row.key, row, changed);
  }

  #replace(kind: RowKind, key: string, row: Row | undefined, changed: Changed): void {
    const rows = entryOf(this.#rows, kind, () => new Map<string, Row>());
    const old = rows.get(key);
    for (const id of poolsOf(old)) this.#members.get(id)?.get(kind)?.delete(key);
    if (row === undefined) rows.delete(key);
    else rows.set(key, row);
    for (const id of poolsOf(row)) this.#keysOf(id, kind).add(key);
    changed.kinds.add(kind);
    for (const id of [...poolsOf(old), ...poolsOf(row)]) changed.pools.add(id);
    // The link of a node, and the object of a pool, change how the pool looks.
    if (kind === 'Link') for (const id of poolsOf(this.get('Node', key))) changed.pools.add(id);
    if (kind === 'NodePool' || kind === 'NodeGroup') changed.pools.add(`${kind}/${key}`);
  }

  #keysOf(id: PoolId, kind: RowKind): Set<string> {
    const kinds = entryOf(this.#members, id, () => new Map<RowKind, Set<string>>());
    return entryOf(kinds, kind, () => new Set<string>());
  }
}

function entryOf<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const created = create();
  map.set(key, created);
  return created;
}

/** A front door names its pool without the kind. */
function poolsOf(row: Row | undefined): PoolId[] {
  if (row?.kind === 'Node') return poolsOfNode(row);
  if (row?.kind !== 'L7Router') return [];
  return row.pool === undefined ? [CLOUD] : POOL_KINDS.map((kind) => `${kind}/${row.pool}`);
}

function poolsOfNode({ nodePool, nodeGroup }: NodeRow): PoolId[] {
  const ids: PoolId[] = [];
  if (nodePool !== undefined) ids.push(`NodePool/${nodePool}`);
  if (nodeGroup !== undefined) ids.push(`NodeGroup/${nodeGroup}`);
  return ids.length === 0 ? [CLOUD] : ids;
}

export const nameOfPool = (id: PoolId): string => id.slice(id.indexOf('/') + 1);

const collator = new Intl.Collator('en', { numeric: true });
/** `shop-9` is before `shop-10`. */
export const byName = (a: string, b: string): number => collator.compare(a, b);
