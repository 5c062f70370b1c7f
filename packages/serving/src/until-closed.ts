import type { Duplex } from 'node:stream';

/** One side of a tunnel. A side that breaks, breaks the other one too: a half-dead connection would hang its client. */
export function untilClosed(socket: Duplex, other: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const onClose = (): void => {
      if (!socket.readableEnded || !socket.writableFinished) other.destroy();
      resolve();
    };
    socket.once('error', () => other.destroy());
    if (socket.destroyed) onClose();
    else socket.once('close', onClose);
  });
}
