/** The record of drain times in `status.draining` of an L7Router. Pure. */
import type { L7Router, RouterDrain } from '../../api/index.ts';
import type { HostName } from '../model.ts';

/** Since when other routers serve what leaves a router, in milliseconds since the epoch. */
export interface Drains {
  readonly hosts: ReadonlyMap<HostName, number>;
  readonly ingresses: ReadonlyMap<string, number>;
  /** The whole router, because no class needs it any more. */
  readonly all?: number | undefined;
}

export function drainsOf({ status }: L7Router): Drains {
  const hosts = new Map<HostName, number>();
  const ingresses = new Map<string, number>();
  let all: number | undefined;
  for (const drain of status?.draining ?? []) {
    const since = Date.parse(drain.since);
    if (Number.isNaN(since)) continue;
    for (const host of drain.hosts ?? []) hosts.set(host, since);
    for (const ingress of drain.ingresses ?? []) ingresses.set(ingress, since);
    if (drain.all === true) all = since;
  }
  return { hosts, ingresses, all };
}

/** Most hosts of a move have the same time, so they are grouped by it. Times are rounded up to seconds. */
export function drainRecord({ hosts, ingresses, all }: Drains): RouterDrain[] {
  const groups = new Map<string, { hosts: string[]; ingresses: string[]; all: boolean }>();
  const groupAt = (since: number) => {
    const time = new Date(Math.ceil(since / 1_000) * 1_000).toISOString().replace(/\.\d+Z$/, 'Z');
    const group = groups.get(time) ?? { hosts: [], ingresses: [], all: false };
    groups.set(time, group);
    return group;
  };
  for (const [host, since] of hosts) groupAt(since).hosts.push(host);
  for (const [ingress, since] of ingresses) groupAt(since).ingresses.push(ingress);
  if (all !== undefined) groupAt(all).all = true;
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([since, group]) => ({
      since,
      ...(group.hosts.length > 0 && { hosts: group.hosts.sort() }),
      ...(group.ingresses.length > 0 && { ingresses: group.ingresses.sort() }),
      ...(group.all && { all: true }),
    }));
}
