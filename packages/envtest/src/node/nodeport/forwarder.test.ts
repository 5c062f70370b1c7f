import { createHash, randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { Forwarder } from './forwarder.ts';
import type { Endpoint } from './targets.ts';

/** Each run uses other addresses, so that concurrent runs do not conflict. */
const RANGE = `127.${randomInt(130, 250)}.${randomInt(1, 250)}`;
const ADDRESS = `${RANGE}.1`;
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function endpoint(handler: (socket: Socket) => void): Promise<Endpoint & { server: Server }> {
  const server = createServer({ allowHalfOpen: true }, handler);
  server.listen(0, `${RANGE}.102`);
  await once(server, 'listening');
  closers.push(() => server.close());
  return { address: `${RANGE}.102`, port: (server.address() as AddressInfo).port, server };
}

/** A port on which nothing listens. */
async function closedPort(): Promise<number> {
  const { port, server } = await endpoint(() => {});
  server.close();
  await once(server, 'close');
  return port;
}

async function forward(candidates: Endpoint[]): Promise<{ port: number; chosen: Endpoint[] }> {
  const chosen: Endpoint[] = [];
  const forwarder = new Forwarder(
    { candidates: () => candidates, chosen: (_client, taken) => chosen.push(taken) },
    () => {},
  );
  const port = await closedPort();
  await forwarder.listen(port, ADDRESS);
  closers.push(() => forwarder.close());
  return { port, chosen };
}

/** Uses events, because iterating over a socket would close it at the end of its input. */
async function readAll(socket: Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).resume();
  await once(socket, 'end');
  return Buffer.concat(chunks);
}

const digest = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

describe('a forwarder', () => {
  test('forwards both directions, each until its own end', async () => {
    // Responds only after the request has ended; a connection that is closed as a whole would lose the response.
    const target = await endpoint(async (socket) => {
      const request = await readAll(socket);
      socket.end(`${request.length} ${digest(request)}`);
    });
    const { port } = await forward([target]);
    const client = connect({ port, host: ADDRESS, allowHalfOpen: true });
    const request = randomBytes(5_000_000);
    client.end(request);
    expect((await readAll(client)).toString()).toBe(`5000000 ${digest(request)}`);
  });

  test('applies backpressure to slow readers without buffering', async () => {
    const data = randomBytes(20_000_000);
    let sent = 0;
    const target = await endpoint((socket) => {
      for (let at = 0; at < data.length; at += 100_000) {
        socket.write(data.subarray(at, at + 100_000), () => {
          sent += 100_000;
        });
      }
      socket.end();
    });
    const { port } = await forward([target]);
    const client = connect({ port, host: ADDRESS });
    client.pause();
    await once(client, 'connect');
    // Only socket buffers fill up; the rest stays with the sender until the receiver reads.
    await expect.poll(() => sent).toBeGreaterThan(0);
    expect(sent).toBeLessThan(data.length);
    expect(digest(await readAll(client))).toBe(digest(data));
  });

  test('tries the next endpoint when one refuses', async () => {
    const target = await endpoint((socket) => socket.end('here'));
    const refused = { address: `${RANGE}.102`, port: await closedPort() };
    const { port, chosen } = await forward([refused, refused, target]);
    expect((await readAll(connect(port, ADDRESS))).toString()).toBe('here');
    expect(chosen).toEqual([target]);
  });

  test('resets the connection without an endpoint', async () => {
    const { port } = await forward([]);
    const [error] = await once(connect(port, ADDRESS), 'error').catch((error) => [error]);
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  });

  test('passes a reset on to the other side', async () => {
    const target = await endpoint((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const { port } = await forward([target]);
    const client = connect(port, ADDRESS);
    client.write('x');
    const [error] = await once(client, 'error');
    expect(error).toMatchObject({ code: 'ECONNRESET' });

    const ended = new Promise((resolve, reject) => {
      const greet = (socket: Socket): void => {
        socket.on('error', resolve).resume().write('hello');
      };
      endpoint(greet)
        .then((other) => forward([other]))
        .then(({ port: another }) => {
          const leaving = connect(another, ADDRESS);
          leaving.once('data', () => leaving.resetAndDestroy());
        })
        .catch(reject);
    });
    expect(await ended).toMatchObject({ code: 'ECONNRESET' });
  });
});
