/** Reads the TCP connections of this machine from `/proc/net/tcp`. Only IPv4: ClusterIPs are IPv4 addresses. */
import { readFileSync } from 'node:fs';

export interface TcpAddress {
  address: string;
  port: number;
}

interface TcpEntry {
  local: string;
  remote: string;
  inode: string;
}

/** Parses the table. Addresses are `7F000001:0050`, with the bytes of the address in the order of the processor. */
export function parseTcpTable(text: string): TcpEntry[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local, remote, , , , , , , inode] = line.trim().split(/\s+/);
      return local === undefined || remote === undefined || inode === undefined
        ? []
        : [{ local, remote, inode }];
    });
}

/** An address in the form of the table, on a little-endian processor. */
export const inTable = ({ address, port }: TcpAddress): string => {
  const bytes = address.split('.').map((byte) => Number(byte).toString(16).padStart(2, '0'));
  return `${bytes.reverse().join('')}:${port.toString(16).padStart(4, '0')}`.toUpperCase();
};

const readTable = (): TcpEntry[] => parseTcpTable(readFileSync('/proc/net/tcp', 'utf8'));

/** Identifies the client's end of a connection; undefined when it is closed already. */
export function inodeOf(client: TcpAddress, server: TcpAddress): string | undefined {
  const [local, remote] = [inTable(client), inTable(server)];
  return readTable().find((entry) => entry.local === local && entry.remote === remote)?.inode;
}
