/** Reads the TCP connections of this machine from `/proc/net/tcp`. Only IPv4: ClusterIPs are IPv4 addresses. */
import { readFileSync } from 'node:fs';

export interface TcpAddress {
  address: string;
  port: number;
}

interface TcpEntry {
  local: string;
  remote: string;
  state: string;
  inode: string;
}

const LISTEN = '0A';

/** Parses the table. Addresses are `7F000001:0050`, with the bytes of the address in the order of the processor. */
export function parseTcpTable(text: string): TcpEntry[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
      if (local === undefined || remote === undefined || state === undefined || inode === undefined)
        return [];
      return [{ local, remote, state, inode }];
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

/** Whether a program listens on exactly this address. */
export function isListening(address: TcpAddress): boolean {
  const local = inTable(address);
  return readTable().some((entry) => entry.local === local && entry.state === LISTEN);
}
