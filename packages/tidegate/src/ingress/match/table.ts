import type { Certificate, Changes, Credentials, Delta, HostName, HostRoutes, Upstream } from '../model.ts';
import { wildcardOf } from './host.ts';
import { ShardedMap } from './sharded-map.ts';

/** All routes of a router at one generation. Immutable: applyDelta returns a new table. */
export interface RouteTable {
  readonly generation: number;
  readonly hosts: ShardedMap<HostRoutes>;
  readonly upstreams: ShardedMap<Upstream>;
  readonly certificates: ShardedMap<Certificate>;
  readonly credentials: ShardedMap<Credentials>;
}

export const EMPTY_TABLE: RouteTable = {
  generation: 0,
  hosts: ShardedMap.empty(),
  upstreams: ShardedMap.empty(),
  certificates: ShardedMap.empty(),
  credentials: ShardedMap.empty(),
};

/** A delta does not start at the generation of the table, so at least one delta was missed. */
export class DeltaGapError extends Error {
  override readonly name = 'DeltaGapError';

  constructor(generation: number, from: number) {
    super(
      `The table is at generation ${generation}, but the delta starts at generation ${from}: send the complete state.`,
    );
  }
}

/** The cost depends on the size of the delta, not of the table. Throws DeltaGapError if a delta was missed. */
export function applyDelta(table: RouteTable, delta: Delta): RouteTable {
  if (delta.from !== 0 && delta.from !== table.generation) {
    throw new DeltaGapError(table.generation, delta.from);
  }
  const base = delta.from === 0 ? EMPTY_TABLE : table;
  return {
    generation: delta.to,
    hosts: changed(base.hosts, delta.hosts, hostOf),
    upstreams: changed(base.upstreams, delta.upstreams, idOf),
    certificates: changed(base.certificates, delta.certificates, hostOf),
    credentials: changed(base.credentials, delta.credentials ?? NO_CHANGE, idOf),
  };
}

const NO_CHANGE: Changes<string, never> = { set: [], remove: [] };

function changed<V>(
  map: ShardedMap<V>,
  { set, remove }: Changes<string, V>,
  keyOf: (value: V) => string,
): ShardedMap<V> {
  if (set.length === 0 && remove.length === 0) return map;
  return map.with(
    set.map((value) => [keyOf(value), value] as const),
    remove,
  );
}

const hostOf = ({ host }: { host: HostName }): HostName => host;
const idOf = ({ id }: { id: string }): string => id;

/**
 * The certificate for a client that connects to `host`: for the host, else for its wildcard, else the default. Undefined:
 * the certificate of the router itself.
 */
export function certificateFor({ certificates }: RouteTable, host: HostName): Certificate | undefined {
  const wildcard = wildcardOf(host);
  const found =
    certificates.get(host) ??
    (wildcard === undefined ? undefined : certificates.get(wildcard)) ??
    certificates.get('');
  return found === undefined || isWithheld(found) ? undefined : found;
}

/** No certificate may be used for the host. */
export const isWithheld = ({ certificate }: Certificate): boolean => certificate === '';
