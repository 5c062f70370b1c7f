/** Whether ports are free. The only reliable test is to listen: it finds listeners on all addresses (0.0.0.0, ::) too. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { codeOf, SupervisorError } from './error.ts';
import type { Endpoint } from './relay.ts';

/** Outside the ephemeral ports of common operating systems and outside the NodePort range. */
const PORTS = { first: 20_000, last: 29_999 };

/** The first port to try instead of one that is in use: easy to recognize, for example 18080 for 8080. */
export const OFFSET = 10_000;

/** Whether it is possible to listen on the endpoint now. */
export async function isFree({ host, port }: Endpoint): Promise<boolean> {
  const server = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, resolve);
    });
    await new Promise((resolve) => server.close(resolve));
    return true;
  } catch (cause) {
    if (codeOf(cause) === 'EADDRINUSE') return false;
    if (codeOf(cause) === 'EACCES') {
      throw new SupervisorError(`port ${port} requires more privileges; choose a port above 1023`, { cause });
    }
    if (codeOf(cause) !== 'EADDRNOTAVAIL') throw cause;
    throw new SupervisorError(
      `the address ${host} is not available: the nodes of the cluster need all of 127.0.0.0/8 on the loopback interface, which is the default on Linux`,
      { cause },
    );
  }
}

/** The wanted port if `free` accepts it, otherwise any that it accepts; 0 means no preference. */
export async function choosePort(
  wanted: number,
  free: (port: number) => Promise<boolean>,
  random: (first: number, last: number) => number = (first, last) => randomInt(first, last + 1),
): Promise<number> {
  let port = wanted;
  while (port === 0 || !(await free(port))) port = random(PORTS.first, PORTS.last);
  return port;
}

/** The wanted port on 127.0.0.1 if it is free, otherwise any free port; 0 means no preference. */
export const freePort = (wanted: number, taken: ReadonlySet<number> = new Set()): Promise<number> =>
  choosePort(wanted, async (port) => !taken.has(port) && (await isFree({ host: '127.0.0.1', port })));
