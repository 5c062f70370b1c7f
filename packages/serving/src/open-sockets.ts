import type { Socket } from 'node:net';

export interface OpenSocketsOptions {
  /** Of one group. */
  most: number;
  /** Sockets with the same result share a limit. Default: all of them. */
  groupOf?: (socket: Socket) => string;
}

/** The sockets that wait for a request, longest first, and those with a request that is being answered. */
interface Group {
  readonly waiting: Map<string, Socket>;
  readonly inUse: Map<string, Socket>;
}

/**
 * The open connections of a server, with a limit. A new connection replaces the one that has waited longest without a request.
 * So a client that opens connections and sends nothing closes its own, and cannot lock out clients with requests. Only if
 * all of them have requests, the new one is closed.
 */
export class OpenSockets {
  readonly #most: number;
  readonly #groupOf: (socket: Socket) => string;
  readonly #groups = new Map<string, Group>();

  constructor({ most, groupOf = () => '' }: OpenSocketsOptions) {
    this.#most = most;
    this.#groupOf = groupOf;
  }

  add(socket: Socket): void {
    const key = this.#groupOf(socket);
    const group = this.#groups.get(key) ?? { waiting: new Map(), inUse: new Map() };
    if (group.waiting.size + group.inUse.size >= this.#most) {
      const [longest] = group.waiting;
      if (longest === undefined) {
        socket.destroy();
        return;
      }
      const [replaced, its] = longest;
      group.waiting.delete(replaced);
      its.destroy();
    }
    this.#groups.set(key, group);
    const name = nameOf(socket);
    group.waiting.set(name, socket);
    // After the close, the socket no longer has the address that names it.
    socket.once('close', () => {
      for (const sockets of [group.waiting, group.inUse])
        if (sockets.get(name) === socket) sockets.delete(name);
      if (group.waiting.size + group.inUse.size === 0 && this.#groups.get(key) === group)
        this.#groups.delete(key);
    });
  }

  /** The socket, or the TLS socket on top of it, has a request. The returned function ends that. */
  use(socket: Socket): () => void {
    const group = this.#groups.get(this.#groupOf(socket));
    const name = nameOf(socket);
    const open = group?.waiting.get(name);
    if (group === undefined || open === undefined) return () => {};
    group.waiting.delete(name);
    group.inUse.set(name, open);
    return () => {
      if (!group.inUse.delete(name)) return;
      group.waiting.set(name, open);
    };
  }

  closeAll(): void {
    for (const { waiting, inUse } of this.#groups.values())
      for (const socket of [...waiting.values(), ...inUse.values()]) socket.destroy();
  }
}

/** A TLS socket has the addresses of the socket below it, which it does not show. */
const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
