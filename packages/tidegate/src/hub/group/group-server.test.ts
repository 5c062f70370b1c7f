import { once } from 'node:events';
import { request } from 'node:https';
import { connect } from 'node:net';
import { silentLogger, systemClock } from '@tidegate/kube';
import { expect, it, onTestFinished } from 'vitest';
import { GroupServer, REPORTS_PATH } from './group-server.ts';
import { AUTHORITY, nodeClient } from './testing.ts';

async function listen(): Promise<GroupServer> {
  const current = AUTHORITY.issue({ commonName: 'system:node:a', usage: 'serverAuth' });
  const server = new GroupServer({
    certificate: { current, onChange: () => () => {} },
    clientCa: AUTHORITY.ca,
    feed: { add: () => () => {} },
    isMember: (node) => node === 'b',
    beatMs: 1_000,
    clock: systemClock,
    log: silentLogger,
  });
  await server.listen('127.0.0.1', 0);
  onTestFinished(() => server.close());
  return server;
}

/** Asks as the node `b`, and resolves to the status. */
const ask = (port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const { certificate: cert, key } = nodeClient('b');
    const target = { host: '127.0.0.1', port, path: REPORTS_PATH };
    const asked = request({ ...target, cert, key, rejectUnauthorized: false, agent: false }, (response) => {
      resolve(response.statusCode);
      response.destroy();
    });
    asked.on('error', reject);
    asked.end();
  });

it('answers nodes of the pool although a stranger has opened all connections that it accepts', async () => {
  const { port } = await listen();
  const strangers = Array.from({ length: 600 }, () => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    return once(socket, 'connect');
  });
  await Promise.all(strangers);
  expect(await ask(port)).toBe(200);
});
