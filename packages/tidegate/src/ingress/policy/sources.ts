import type { PolicyReader } from './annotation-reader.ts';
import { contains, type Network, octetsOf, readNetwork } from './networks.ts';

/** Which clients may use a route, by their address. Others get the response 403. */
export interface Sources {
  /** Clients that are refused, even if `allow` has them too. */
  readonly deny: readonly Network[];
  /** If it is not empty, all other clients are refused. */
  readonly allow: readonly Network[];
}

/** Each entry is data in every worker. */
const MOST_NETWORKS = 1_000;

const ALLOW = ['allowlist-source-range', 'whitelist-source-range'];

export function readSources(reader: PolicyReader): Sources | undefined {
  const allowed = ALLOW.find((name) => reader.has(name));
  const allow = allowed === undefined ? [] : readNetworks(reader, allowed);
  const deny = readNetworks(reader, 'denylist-source-range');
  return allow.length + deny.length === 0 ? undefined : { deny, allow };
}

export function readNetworks(reader: PolicyReader, name: string): Network[] {
  const written = reader.text(name);
  if (written === undefined) return [];
  const entries = written.split(',').map((entry) => entry.trim());
  const networks = entries.map(readNetwork);
  const wrong = entries.find((_, at) => networks[at] === undefined);
  if (wrong !== undefined)
    reader.invalid(
      name,
      wrong,
      'comma-separated IP addresses and networks, for example 10.0.0.0/8,2001:db8::/32',
    );
  else if (entries.length > MOST_NETWORKS)
    reader.invalid(name, `${entries.length} entries`, `at most ${MOST_NETWORKS} networks`);
  return networks.flatMap((network) => network ?? []);
}

/** An unknown address is refused. */
export function isAllowed({ allow, deny }: Sources, client: string): boolean {
  const address = octetsOf(client);
  if (address === undefined) return false;
  const has = (network: Network): boolean => contains(network, address);
  return !deny.some(has) && (allow.length === 0 || allow.some(has));
}

/** Whether one of the networks has the address. */
export function isIn(networks: readonly Network[], client: string): boolean {
  const address = networks.length === 0 ? undefined : octetsOf(client);
  return address !== undefined && networks.some((network) => contains(network, address));
}
