import { lookup, resolve4, resolve6 } from 'node:dns/promises';

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
