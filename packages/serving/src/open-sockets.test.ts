import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { OpenSockets, type OpenSocketsOptions } from './open-sockets.ts';

let server: Server;
let clients: Socket[];
beforeEach(() => {
  clients = [];
  server = createServer();
});
afterEach(async () => {
  for (const client of clients) client.destroy();
  await new Promise((resolve) => server.close(resolve));
});

async function limited(options: OpenSocketsOptions) {
  const sockets = new OpenSockets(options);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  /** Opens a connection; returns its ends at the client and at the server. */
  const open = async (from = '127.0.0.1'): Promise<{ client: Socket; accepted: Socket }> => {
    const { port } = server.address() as AddressInfo;
    const client = connect({ port, host: '127.0.0.1', localAddress: from });
    clients.push(client);
    client.on('error', () => undefined);
    const [accepted] = (await once(server, 'connection')) as [Socket];
    accepted.on('error', () => undefined);
    sockets.add(accepted);
    return { client, accepted };
  };
  return { sockets, open };
}

it('closes the connection that has waited longest when there are too many', async () => {
  const { sockets, open } = await limited({ most: 2 });
  const [first, second] = [await open(), await open()];
  sockets.use(first.accepted)();
  const third = await open();
  await once(second.client, 'close');
  expect([first, third].map(({ accepted }) => accepted.destroyed)).toEqual([false, false]);
});

it('never closes a connection with a request', async () => {
  const { sockets, open } = await limited({ most: 2 });
  const [first, second] = [await open(), await open()];
  const done = sockets.use(first.accepted);
  sockets.use(second.accepted);
  expect((await open()).accepted.destroyed).toBe(true);
  done();
  expect((await open()).accepted.destroyed).toBe(false);
  expect(first.accepted.destroyed).toBe(true);
  expect(second.accepted.destroyed).toBe(false);
});

it('has a limit for each group', async () => {
  const { open } = await limited({ most: 1, groupOf: ({ remoteAddress }) => remoteAddress ?? '' });
  const [first, other] = [await open(), await open('127.0.0.2')];
  await open();
  expect([first, other].map(({ accepted }) => accepted.destroyed)).toEqual([true, false]);
});

it('does not count connections that clients have closed', async () => {
  const { sockets, open } = await limited({ most: 2 });
  const [first, second] = [await open(), await open()];
  sockets.use(second.accepted);
  second.client.destroy();
  await once(second.accepted, 'close');
  await open();
  expect(first.accepted.destroyed).toBe(false);
});

it('closes all', async () => {
  const { sockets, open } = await limited({ most: 3 });
  const opened = [await open(), await open()];
  sockets.use(opened[0]!.accepted);
  sockets.closeAll();
  expect(opened.map(({ accepted }) => accepted.destroyed)).toEqual([true, true]);
});
