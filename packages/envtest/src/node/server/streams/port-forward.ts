import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { SpdyConnection, type SpdyStream } from '../spdy/connection.ts';

export const PORT_FORWARD_PROTOCOL = 'portforward.k8s.io';
/** kubectl 1.31 and newer carries the SPDY connection in a WebSocket. */
export const TUNNEL_PROTOCOL = `SPDY/3.1+${PORT_FORWARD_PROTOCOL}`;

/**
 * Forwards the connections of `kubectl port-forward` to the pod. For each of them the client opens two streams with
 * the same request id: one for errors and one for data.
 */
export async function forwardPorts(transport: Duplex, podIP: string): Promise<void> {
  const waiting = new Map<string, SpdyStream>();
  const connection = new SpdyConnection(transport, (stream) => {
    stream.duplex.on('error', () => {});
    const id = stream.headers.requestid ?? '';
    const other = waiting.get(id);
    if (other === undefined) {
      waiting.set(id, stream);
      return;
    }
    waiting.delete(id);
    const [data, errors] = stream.headers.streamtype === 'data' ? [stream, other] : [other, stream];
    forward(podIP, data, errors);
  });
  await connection.closed;
}

function forward(podIP: string, { headers, duplex: data }: SpdyStream, { duplex: errors }: SpdyStream): void {
  const port = Number(headers.port);
  const socket = connect({ host: podIP, port, allowHalfOpen: true });
  let connected = false;
  socket.once('connect', () => {
    connected = true;
    data.pipe(socket).pipe(data);
  });
  socket.once('error', (error) => {
    if (!connected) errors.write(`failed to connect to ${podIP}:${port} in the pod: ${error.message}`);
  });
  // The client waits for the end of both streams.
  socket.once('close', () => {
    errors.end();
    data.end();
  });
  data.once('close', () => socket.destroy());
}
