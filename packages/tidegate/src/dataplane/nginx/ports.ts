import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/**
 * As many different ports as requested, free at this moment. nginx cannot report which port it got for port 0, so the
 * agent chooses them. All are held until the last one is found: a port that was released is often the next one given.
 */
export async function freePorts(address: string, count: number): Promise<number[]> {
  const held: Server[] = [];
  try {
    for (let i = 0; i < count; i++) {
      const server = createServer();
      server.listen({ host: address, port: 0 });
      await once(server, 'listening');
      held.push(server);
    }
    return held.map((server) => (server.address() as AddressInfo).port);
  } finally {
    for (const server of held) {
      server.close();
      await once(server, 'close');
    }
  }
}
