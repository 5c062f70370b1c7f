/**
 * Finds out whether a hub would use itself as its API server. Every request would then come back to the hub, again and again,
 * and no API server would ever see it.
 */
import { isIP } from 'node:net';

export interface HubListeners {
  bindAddress: string;
  hubAddress: string;
  httpPort: number;
  httpsPort: number;
}

/** The first of the servers that is the hub itself, or undefined. */
export function ownUpstream(servers: readonly string[], listeners: HubListeners): string | undefined {
  return servers.find((server) => isOwn(new URL(server), listeners));
}

function isOwn(
  { hostname, port, protocol }: URL,
  { bindAddress, hubAddress, httpPort, httpsPort }: HubListeners,
): boolean {
  const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
  if (number !== httpPort && number !== httpsPort) return false;
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  // A hub that listens on all addresses is reached at each of them; which these are is not known here.
  if (bindAddress === '0.0.0.0' || bindAddress === '::') return true;
  return host === 'localhost'
    ? isLoopback(bindAddress)
    : [bindAddress, hubAddress].some((own) => same(own, host));
}

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.');

/** Compares addresses in their canonical form: `::1` can be written in several ways. */
const same = (a: string, b: string): boolean => canonical(a) === canonical(b);

const canonical = (address: string): string =>
  isIP(address) === 6 ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address.toLowerCase();
