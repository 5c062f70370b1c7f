import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Outside the ports that systems assign, NodePorts, and the ports that Tidegate chooses or uses by default. */
const RANGE = { first: 11_000, last: 19_999 };

/**
 * A port of 127.0.0.1 for a server that starts later, or that stops and starts again. Until then, no other test of this
 * run gets the port: neither from this function, nor from the system for port 0.
 */
export async function reservePort(): Promise<number> {
  for (;;) {
    const port = randomInt(RANGE.first, RANGE.last + 1);
    if ((await claim(port)) && (await isFree(port))) return port;
  }
}

/**
 * Ports of 127.0.0.1 that refuse connections. Systems do not assign ports below 1024, and the services that were once
 * registered for these are not in use.
 */
export const CLOSED_PORTS = [2, 3] as const;

/** Test files run in several processes. A directory is created by exactly one of them. */
async function claim(port: number): Promise<boolean> {
  const claims = join(tmpdir(), 'ports');
  await mkdir(claims, { recursive: true });
  return mkdir(join(claims, String(port))).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'EEXIST') return false;
      throw error;
    },
  );
}

/** Whether no other program of the machine uses the port. */
function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
