import type { Duplex } from 'node:stream';

/**
 * Resolves when this side of a tunnel has closed. If it broke instead of ending normally, the other side is destroyed too:
 * a tunnel with one dead side would leave a client hanging.
 */
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
