import { hashOf } from '../../ingress/policy/index.ts';
import type { Exchange } from './exchange.ts';
import type { Member, Members } from './members.ts';

/** The endpoint that gets a request: by its key if the route has one, or else the next one. Undefined if all were tried. */
export function pick(
  exchange: Exchange,
  members: Members,
  { tried, now }: { tried: ReadonlySet<Member>; now: number },
): Member | undefined {
  const hashBy = exchange.matched?.action.policy?.hashBy;
  if (hashBy === undefined) return members.pick(tried, now);
  const { client, secure, target, method, request } = exchange;
  const header = (name: string): string | undefined => {
    const value = request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  };
  const host = exchange.matched?.name ?? '';
  const hash = hashOf(hashBy, { host, client, secure, target, method, header });
  return members.pickByHash(hash, { subset: hashBy.subset, tried, now, random: Math.random });
}
