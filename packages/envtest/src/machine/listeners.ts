/**
 * Which TCP ports of this machine other programs listen on, from the tables of the kernel. A program that listens on
 * all addresses (0.0.0.0 or ::) takes its port on every loopback address, and so from every node and pod of a cluster.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';

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

/**
 * Whether a program listens on exactly this address. Reads the tables again only to confirm that none does, or after five
 * seconds: agents ask this repeatedly for every address that another agent listens on.
 */
export function recentListener(
  find: () => Listener[] = listeners,
  now = () => performance.now(),
): (address: string, port: number) => boolean {
  let found = new Set<string>();
  let until = 0;
  return (address, port) => {
    const name = `${address}:${port}`;
    if (now() > until || !found.has(name)) {
      found = new Set(find().map((each) => `${each.address}:${each.port}`));
      until = now() + RECENT_MS;
    }
    return found.has(name);
  };
}

const CHUNK_BYTES = 4096;

/**
 * Reads the beginning of a table. The kernel lists all listeners first, then all connections. A busy machine has thousands
 * of connections, and listing them takes forty times as long, so this stops at the first one.
 */
function readTable(path: string): string {
  try {
    if (path === TABLES[1] && !usesIPv6()) return '';
    const file = openSync(path, 'r');
    try {
      return readListeners(file);
    } finally {
      closeSync(file);
    }
  } catch {
    return ''; // Another operating system, or IPv6 is disabled.
  }
}

/** Without sockets of IPv6, the kernel would look through all connections of IPv4 for them. */
const usesIPv6 = (): boolean => !/^TCP6: inuse 0$/m.test(readFileSync('/proc/net/sockstat6', 'latin1'));

function readListeners(file: number): string {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let text = '';
  for (;;) {
    const length = readSync(file, chunk, 0, CHUNK_BYTES, null);
    text += chunk.toString('latin1', 0, length);
    const last = text.lastIndexOf('\n');
    const lastLine = text.slice(text.lastIndexOf('\n', last - 1) + 1, last);
    const isHeading = text.indexOf('\n') === last;
    if (length === 0 || (!isHeading && columnsOf(lastLine)[3] !== LISTEN)) return text;
  }
}

/** One line for each socket: number, local address, remote address, state, and more. The first line has the headings. */
function parseTable(text: string): Listener[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state] = columnsOf(line);
      if (state !== LISTEN) return [];
      const [address = '', port = ''] = local.split(':');
      const ip = toAddress(address);
      return ip === undefined ? [] : [{ address: ip, port: Number.parseInt(port, 16) }];
    });
}

const columnsOf = (line: string): string[] => line.trim().split(/\s+/);

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
