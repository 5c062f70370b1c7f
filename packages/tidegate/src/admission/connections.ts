import type { Socket } from 'node:net';

/**
 * Limits how much memory and how many connections callers can occupy before their reviews are read. The limit of
 * connections is per address: otherwise a client that opens connections and sends nothing could keep API servers out.
 */
export class Connections {
  readonly #mostPerAddress: number;
  readonly #mostBytes: number;
  readonly #open = new Map<string, Set<Socket>>();
  #bytes = 0;

  constructor(limits: { mostPerAddress: number; mostBytes: number }) {
    this.#mostPerAddress = limits.mostPerAddress;
    this.#mostBytes = limits.mostBytes;
  }

  /** Closes the socket if its address has too many. */
  add(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const sockets = this.#open.get(address) ?? new Set();
    if (sockets.size >= this.#mostPerAddress) {
      socket.destroy();
      return;
    }
    this.#open.set(address, sockets.add(socket));
    socket.once('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) this.#open.delete(address);
    });
  }

  closeAll(): void {
    for (const sockets of this.#open.values()) for (const socket of sockets) socket.destroy();
  }

  /** Reserves memory for a part of a body. False if all bodies together would need too much. */
  reserve(bytes: number): boolean {
    if (this.#bytes + bytes > this.#mostBytes) return false;
    this.#bytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#bytes -= bytes;
  }
}
