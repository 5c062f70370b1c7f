import { createServer } from 'node:net';

/** A port that is free at this moment. nginx cannot report which port it got for port 0, so the agent chooses one. */
export function freePort(address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: address, port: 0 }, () => {
      const bound = server.address();
      server.close(() => {
        if (bound !== null && typeof bound === 'object') resolve(bound.port);
        else reject(new Error('a listening server has no port'));
      });
    });
  });
}
