import { createServer } from 'node:net';

/** A port that nobody uses at this moment. nginx can not tell which one it got, so it is told. */
export function freePort(address: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: address, port: 0 }, () => {
      const bound = server.address();
      server.close(() => {
        if (bound !== null && typeof bound === 'object') resolve(bound.port);
        else reject(new Error('a server that listens has no port'));
      });
    });
  });
}
