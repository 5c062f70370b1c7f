import type { Certificate, Changes, Delta, HostName, HostRoutes, Upstream, UpstreamId } from '../model.ts';
import { wildcardOf } from './host.ts';
import { ShardedMap } from './sharded-map.ts';

/** All that a router goes by at one moment. Never changed: a delta makes another one. */
export interface RouteTable {
  readonly generation: number;
  readonly hosts: ShardedMap<HostRoutes>;
  readonly upstreams: ShardedMap<Upstream>;
  readonly certificates: ShardedMap<Certificate>;
}

export const EMPTY_TABLE: RouteTable = {
  generation: 0,
  hosts: ShardedMap.empty(),
  upstreams: ShardedMap.empty(),
  certificates: ShardedMap.empty(),
};

/** A delta came that does not begin where the table is. */
export class DeltaGapError extends Error {
  override readonly name = 'DeltaGapError';

  constructor(generation: number, from: number) {
    super(`The table is at generation ${generation}, the delta begins at ${from}: send the whole state.`);
  }
}

/** What it costs depends on the delta, not on the table. Throws DeltaGapError when one was missed. */
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
  };
}

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
const idOf = ({ id }: { id: UpstreamId }): UpstreamId => id;

/** What to show a client that asks for `host`: the one for it, else for its wildcard, else for nobody in particular. */
export function certificateFor({ certificates }: RouteTable, host: HostName): Certificate | undefined {
  const wildcard = wildcardOf(host);
  return (
    certificates.get(host) ??
    (wildcard === undefined ? undefined : certificates.get(wildcard)) ??
    certificates.get('')
  );
}
