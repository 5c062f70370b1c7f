import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { RouteAction, Upstream, UpstreamId } from '../../../ingress/model.ts';
import type { Backend, BackendId, HealthMonitor, Member } from './state.ts';

/** The largest weight of a member. */
const MOST_WEIGHT = 256;
/** A tag has at most 255 characters, and `u=` comes before the name. */
const MOST_CHARACTERS = 253;

/**
 * The backend of an action: one upstream, or several with their weights. Octavia does not change the subnet of a member, so
 * members in another subnet are another backend, which is complete before a policy uses it.
 */
export function backendIdOf({ backends }: RouteAction, memberSubnet?: string): BackendId {
  const used = backends.filter(({ weight }) => weight > 0);
  const upstreams =
    used.length === 1
      ? `${used[0]?.upstream}`
      : `*weighted ${used.map(({ upstream, weight }) => `${upstream}=${weight}`).join(' ')}`;
  const id = memberSubnet === undefined ? upstreams : `${upstreams} *subnet ${memberSubnet}`;
  if (id.length <= MOST_CHARACTERS) return id;
  return `*hash ${createHash('sha256').update(id).digest('hex')}`;
}

/** `<namespace>_<service>`, as Kuryr names its pools. */
export const poolNameOf = ({ namespace, service, id }: Upstream): string =>
  service === '' ? id : `${namespace}_${service}`;

/** The backend of an action. Undefined if Octavia has no pool that behaves like this. */
export function backendOf(
  action: RouteAction,
  upstreams: ReadonlyMap<UpstreamId, Upstream>,
  { monitor, memberSubnet }: { monitor?: HealthMonitor; memberSubnet?: string },
): Backend | undefined {
  const used = action.backends
    .filter(({ weight }) => weight > 0)
    .map(({ upstream, weight }) => ({ weight, of: upstreams.get(upstream) }));
  const known = used.flatMap(({ weight, of }) => (of === undefined ? [] : [{ weight, of }]));
  const [first] = known;
  const { protocol = 'http', balance = 'roundRobin' } = first?.of ?? {};
  const isUniform = known.every(({ of }) => of.protocol === protocol && of.balance === balance);
  const hasNames = known.some(({ of }) => of.endpoints.some(({ address }) => isIP(address) === 0));
  if (protocol === 'grpc' || !isUniform || hasNames) return undefined;
  return {
    id: backendIdOf(action, memberSubnet),
    name: [...new Set(known.map(({ of }) => poolNameOf(of)))].join(' ').slice(0, MOST_CHARACTERS),
    algorithm: balance === 'leastConnections' ? 'LEAST_CONNECTIONS' : 'ROUND_ROBIN',
    tls: protocol === 'https',
    members: membersOf(known),
    ...(monitor !== undefined && { monitor }),
  };
}

/**
 * The endpoints of all upstreams. An upstream gets its share of the requests whatever the number of its endpoints, so
 * an endpoint gets the weight of its upstream divided by their number.
 */
function membersOf(upstreams: readonly { weight: number; of: Upstream }[]): Member[] {
  const shares = upstreams.map(({ weight, of }) => ({
    of,
    share: weight / Math.max(1, of.endpoints.length),
  }));
  const largest = Math.max(...shares.map(({ share }) => share));
  const least = Math.min(...shares.map(({ share }) => share));
  // Small whole numbers if they are exact, for example 3 and 1.
  const unit =
    Number.isInteger(largest / least) && largest / least <= MOST_WEIGHT ? least : largest / MOST_WEIGHT;
  const members = new Map<string, Member>();
  for (const { of, share } of shares) {
    for (const { address, port } of of.endpoints) {
      const weight = Math.max(1, Math.round(share / unit));
      members.set(memberText({ address, port }), { address: address.toLowerCase(), port, weight });
    }
  }
  return [...members.values()].sort(compareMembers);
}

export const memberText = ({ address, port }: Pick<Member, 'address' | 'port'>): string =>
  `${address.toLowerCase()} ${port}`;

export const compareMembers = (a: Member, b: Member): number => (memberText(a) < memberText(b) ? -1 : 1);
