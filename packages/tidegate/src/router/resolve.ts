import { lookup, resolve4, resolve6 } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';

/** Resolves a DNS name to its addresses, in a stable order, and their TTL. */
export type Resolve = (name: string) => Promise<{ addresses: string[]; ttlSeconds: number }>;

/** For names that do not come from DNS, for example from /etc/hosts: they have no TTL. */
const UNKNOWN_TTL_SECONDS = 30;

/** Asks DNS first, because only DNS returns a TTL. Falls back to the resolver of the system. */
export const resolveByDns: Resolve = async (name) => {
  const records = await resolve4(name, { ttl: true }).catch(() =>
    resolve6(name, { ttl: true }).catch(() => []),
  );
  if (records.length > 0) {
    const ttlSeconds = Math.min(...records.map(({ ttl }) => ttl));
    return { addresses: records.map(({ address }) => address).sort(), ttlSeconds };
  }
  const found = await lookup(name, { all: true });
  return { addresses: found.map(({ address }) => address).sort(), ttlSeconds: UNKNOWN_TTL_SECONDS };
};

/** This host (0/8, 127/8, ::, ::1), link-local, multicast and reserved addresses. */
const LOCAL = new BlockList();
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  LOCAL.addSubnet(net, prefix, 'ipv4');
for (const [net, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  LOCAL.addSubnet(net, prefix, 'ipv6');

/** Not a loopback, unspecified, link-local or multicast address. */
export function isForeignAddress(address: string): boolean {
  const [, mapped] = /^::ffff:([0-9.]+)$/i.exec(address) ?? [];
  if (mapped !== undefined) return isForeignAddress(mapped);
  const family = isIP(address);
  return family !== 0 && !LOCAL.check(address, family === 4 ? 'ipv4' : 'ipv6');
}
