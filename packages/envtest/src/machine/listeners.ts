/**
 * Which TCP ports of this machine other programs listen on, from the tables of the kernel. A program that listens on
 * all addresses (0.0.0.0 or ::) takes its port on every loopback address, and so from every node and pod of a cluster.
 */
import { readFileSync } from 'node:fs';

export interface Listener {
  /** In dotted form; `0.0.0.0` stands for all addresses, also those of IPv6. */
  address: string;
  port: number;
}

const LISTEN = '0A';
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

/** The TCP listeners with an IPv4 address. Empty on systems without /proc. */
export function listeners(read = readTable): Listener[] {
  return TABLES.flatMap((table) => parseTable(read(table)));
}

/** The ports that some program listens on at all addresses. */
export const wildcardPorts = (found = listeners()): Set<number> =>
  new Set(found.filter(({ address }) => address === '0.0.0.0').map(({ port }) => port));

const RECENT_MS = 5_000;

/** The same, but looked up at most every five seconds: the kernel takes milliseconds to list all connections. */
export function recentWildcardPorts(find = wildcardPorts, now = () => performance.now()): () => Set<number> {
  let found: { ports: Set<number>; until: number } | undefined;
  return () => {
    if (found === undefined || now() > found.until) found = { ports: find(), until: now() + RECENT_MS };
    return found.ports;
  };
}

function readTable(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // Another operating system, or IPv6 is disabled.
  }
}

/** One line for each socket: number, local address, remote address, state, and more. The first line has the headings. */
function parseTable(text: string): Listener[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state] = line.trim().split(/\s+/);
      if (state !== LISTEN) return [];
      const [address = '', port = ''] = local.split(':');
      const ip = toAddress(address);
      return ip === undefined ? [] : [{ address: ip, port: Number.parseInt(port, 16) }];
    });
}

const ALL_V6 = '0'.repeat(32);
/** ::ffff:0:0/96: an IPv4 address in a socket of IPv6. */
const MAPPED = '0000000000000000FFFF0000';

/** The kernel writes addresses as 32-bit words in the byte order of the machine. Undefined for addresses of IPv6. */
function toAddress(hex: string): string | undefined {
  // A socket on :: accepts connections over IPv4 too, unless it is limited to IPv6, which the table does not show.
  if (hex === ALL_V6) return '0.0.0.0';
  const word = hex.startsWith(MAPPED) ? hex.slice(MAPPED.length) : hex;
  if (word.length !== 8) return undefined;
  return [6, 4, 2, 0].map((at) => Number.parseInt(word.slice(at, at + 2), 16)).join('.');
}
