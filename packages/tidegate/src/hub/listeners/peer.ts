import { readFile } from 'node:fs/promises';
import { BlockList, isIPv6 } from 'node:net';
import { endianness, networkInterfaces } from 'node:os';
import type { Clock } from '@tidegate/kube';

/** Both ends of a TCP connection, as the hub sees it. */
export interface Addresses {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const family = (address: string): 'ipv4' | 'ipv6' => (isIPv6(address) ? 'ipv6' : 'ipv4');

/** An IPv4 address that a program uses through an IPv6 socket is the same peer. */
const plain = (address: string): string => address.replace(/^::ffff:(?=[0-9.]+$)/i, '');

/** Interfaces come and go with pods, and listing them takes longer than a connection is worth. */
const LIST_MS = 1_000;

/** The addresses of this machine, as they were not longer than a second ago. */
export class OwnAddresses {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #listedAt = Number.NEGATIVE_INFINITY;
  #addresses: ReadonlySet<string> = new Set();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /**
   * Whether the peer is a program in the network namespace of the hub. It can connect from every address of the machine, for
   * example through the cluster IP of the API server. Pods of their own network have other addresses.
   */
  isLocal({ remoteAddress, localAddress }: Addresses): boolean {
    const remote = plain(remoteAddress);
    return remote === plain(localAddress) || LOOPBACK.check(remote, family(remote)) || this.#has(remote);
  }

  #has(address: string): boolean {
    if (this.#clock.monotonic() - this.#listedAt >= LIST_MS) {
      const all = Object.values(networkInterfaces()).flatMap((own) => own ?? []);
      this.#addresses = new Set(all.map((own) => own.address));
      this.#listedAt = this.#clock.monotonic();
    }
    return this.#addresses.has(address);
  }
}

export const nameOf = ({ remoteAddress, remotePort, localAddress, localPort }: Addresses): string =>
  `${plain(remoteAddress)} ${remotePort} ${plain(localAddress)} ${localPort}`;

/**
 * The users that have opened local connections, by name of the connection. The kernel lists the other end of a local
 * connection, with its user, beside the end of the hub. If the kernel has translated the destination, for example from a
 * cluster IP, only the source is the same at both ends; it counts if all connections from there are of one user.
 */
export async function usersOf(connections: readonly Addresses[]): Promise<ReadonlyMap<string, string>> {
  const exact = new Map(connections.map((each) => [nameOf(each), '']));
  const bySource = new Map(connections.map((each) => [sourceOf(each), new Set<string>()]));
  for (const file of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    const text = await readFile(file, 'latin1').catch((error: NodeJS.ErrnoException) => {
      // A kernel without IPv6 has no such file.
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    for (const { connection, user } of usersIn(text)) {
      if (exact.has(nameOf(connection))) exact.set(nameOf(connection), user);
      bySource.get(sourceOf(connection))?.add(user);
    }
  }
  const users = new Map<string, string>();
  for (const each of connections) {
    const [only = '', ...others] = bySource.get(sourceOf(each)) ?? [];
    const user = exact.get(nameOf(each)) || (others.length === 0 ? only : '');
    if (user !== '') users.set(nameOf(each), user);
  }
  return users;
}

const sourceOf = ({ remoteAddress, remotePort }: Addresses): string =>
  `${plain(remoteAddress)} ${remotePort}`;

/**
 * Parses /proc/net/tcp: `sl local_address rem_address st tx:rx tr:when retrnsmt uid timeout inode ...`. A connection that its
 * program has closed has no inode, and many kernels show root as its user: it is left out, so that a client cannot
 * count as root because it disconnects early.
 */
export function* usersIn(text: string): Generator<{ connection: Addresses; user: string }> {
  for (const line of text.split('\n')) {
    const [, local = '', remote = '', , , , , user, , inode = '0'] = line.trim().split(/ +/);
    const from = endOf(local);
    const to = endOf(remote);
    if (from === undefined || to === undefined || user === undefined || inode === '0') continue;
    const connection = {
      remoteAddress: from.address,
      remotePort: from.port,
      localAddress: to.address,
      localPort: to.port,
    };
    yield { connection, user };
  }
}

/** `0100007F:1F90` is 127.0.0.1:8080: words of four bytes, each in the byte order of the machine. */
function endOf(text: string): { address: string; port: number } | undefined {
  const [, digits = '', port = ''] = /^((?:[0-9A-F]{8}){1,4}):([0-9A-F]{4})$/i.exec(text) ?? [];
  const bytes = Buffer.from(digits, 'hex');
  if (bytes.length !== 4 && bytes.length !== 16) return undefined;
  if (endianness() === 'LE') bytes.swap32();
  return { address: bytes.length === 4 ? bytes.join('.') : ipv6(bytes), port: Number.parseInt(port, 16) };
}

function ipv6(bytes: Buffer): string {
  const isMapped = bytes.subarray(0, 12).equals(Buffer.from('00000000000000000000ffff', 'hex'));
  if (isMapped) return bytes.subarray(12).join('.');
  const words = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16));
  // The form that Node uses: the longest run of zeros is omitted.
  return new URL(`http://[${words.join(':')}]`).hostname.slice(1, -1);
}
