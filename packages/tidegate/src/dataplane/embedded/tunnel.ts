import type { Duplex } from 'node:stream';
import { untilClosed } from '@tidegate/serving';
import type { Exchange } from './exchange.ts';
import type { FlatHeaders } from './flat-headers.ts';

interface Switch {
  readonly headers: FlatHeaders;
  readonly protocol: string;
  /** The tunnel is closed after this time without data in either direction. */
  readonly idleMs: number;
}

/** The endpoint accepted the upgrade: forwards bytes in both directions until both sides are closed. */
export async function switchProtocols(exchange: Exchange, server: Duplex, how: Switch): Promise<void> {
  const client = exchange.request.socket;
  exchange.status = 101;
  const lines = [`HTTP/1.1 101 Switching Protocols`, 'Connection: Upgrade', `Upgrade: ${how.protocol}`];
  for (let at = 0; at + 1 < how.headers.length; at += 2)
    lines.push(`${how.headers[at]}: ${how.headers[at + 1]}`);
  client.write([...lines, '', ''].join('\r\n'), 'latin1');
  server.write(exchange.upgrade?.head ?? Buffer.alloc(0));
  // One side may finish sending while the other continues.
  client.allowHalfOpen = true;
  server.allowHalfOpen = true;
  const end = (): void => {
    client.destroy();
    server.destroy();
  };
  const idle = setTimeout(end, how.idleMs);
  client.on('data', () => idle.refresh());
  server.on('data', (chunk: Buffer) => {
    exchange.sentBytes += chunk.length;
    idle.refresh();
  });
  client.pipe(server);
  server.pipe(client);
  await Promise.all([untilClosed(client, server), untilClosed(server, client)]);
  clearTimeout(idle);
}
