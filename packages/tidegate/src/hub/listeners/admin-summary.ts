/**
 * What the admin port shows of views and journal to every local user: numbers. Which clients, namespaces and objects they
 * concern is only on the admin socket: the names of Secrets, and which pods read them, do not concern other users.
 */
import type { AdminRow } from './admin.ts';

/** One row for each resource, kind of owner and state. */
export function summarizeViews(
  views: readonly {
    identity: string;
    resource: string;
    state: string;
    objects: number;
    bytes: number;
    clients: number;
  }[],
): AdminRow[] {
  const groups = grouped(views, ({ identity, resource, state }) => [resource, ownerOf(identity), state]);
  return groups.map((group) => {
    const { resource, identity, state } = group[0]!;
    const sum = (field: 'objects' | 'bytes' | 'clients'): number =>
      group.reduce((total, view) => total + view[field], 0);
    return {
      owner: ownerOf(identity),
      resource,
      state,
      views: group.length,
      objects: sum('objects'),
      bytes: sum('bytes'),
      clients: sum('clients'),
    };
  });
}

/** One row for each resource and kind of write. `since` is the time of the oldest. */
export function summarizeJournal(
  entries: readonly { object: string; kind: string; since: string; writes: number }[],
): AdminRow[] {
  const resourceOf = (object: string): string => object.split(' ', 1)[0] ?? '';
  const groups = grouped(entries, ({ object, kind }) => [resourceOf(object), kind]);
  return groups.map((group) => {
    const { object, kind } = group[0]!;
    const since = group.map((entry) => entry.since).toSorted()[0];
    const writes = group.reduce((total, entry) => total + entry.writes, 0);
    return { resource: resourceOf(object), kind, objects: group.length, since, writes };
  });
}

/** `shared`, `node`, or `clients` for all other identities. */
const ownerOf = (identity: string): string =>
  identity === 'shared' || identity === 'node' ? identity : 'clients';

/** The items with equal keys, in the order of their first item. */
function grouped<T>(items: readonly T[], keyOf: (item: T) => string[]): T[][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = JSON.stringify(keyOf(item));
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()];
}
