import { readdirSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';
import { containerProcesses } from '../proc/index.ts';
import { inodeOf } from './tcp-table.ts';

/** The directory of a container is `STATE/pods/<uid>/containers/<name>`. */
const CONTAINER = /^(.*)\/pods\/[^/]+\/containers\/[^/:]+:/;

/** The state directory of the node whose container opened a connection; undefined for other programs. */
export function nodeStateOf(client: Socket): string | undefined {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = client;
  const inode = inodeOf(
    { address: remoteAddress, port: remotePort },
    { address: localAddress, port: localPort },
  );
  if (inode === undefined || inode === '0') return undefined;
  const link = `socket:[${inode}]`;
  for (const { pid, container } of containerProcesses()) {
    if (holds(pid, link)) return CONTAINER.exec(container)?.[1];
  }
  return undefined;
}

function holds(pid: number, link: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => isLink(`/proc/${pid}/fd/${fd}`, link));
  } catch {
    return false; // The process has ended.
  }
}

function isLink(path: string, link: string): boolean {
  try {
    return readlinkSync(path) === link;
  } catch {
    return false; // The file was closed in the meantime.
  }
}
