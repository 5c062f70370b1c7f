import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { reservePort } from '../../../../test/support/ports.ts';
import { Relay } from './relay.ts';

let upstream: Server;
let relay: Relay;
let serve: (socket: Socket) => void;

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

beforeEach(async () => {
  serve = (socket) => socket.pipe(socket);
  upstream = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    serve(socket);
  });
  relay = new Relay(
    { host: '127.0.0.1', port: await reservePort() },
    { host: '127.0.0.1', port: await listening(upstream) },
  );
  await relay.open();
});
afterEach(async () => {
  await relay.cut();
  upstream.close();
});

const client = (): Socket => connect({ ...relay.listen, allowHalfOpen: true });
const failure = async (socket: Socket): Promise<string | undefined> => {
  const [error] = (await once(socket, 'error').catch((cause) => [cause])) as [NodeJS.ErrnoException];
  return error.code;
};

test('forwards both directions completely; one direction can end before the other', async () => {
  const sent = Buffer.alloc(5_000_000, 'tide');
  serve = (socket) => {
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => socket.end(Buffer.concat(chunks)));
  };
  const socket = client();
  socket.end(sent);
  expect((await buffer(socket)).equals(sent)).toBe(true);
});

test('applies backpressure when the receiver is slow', async () => {
  let written = 0;
  serve = (socket) => {
    const chunk = Buffer.alloc(1 << 20);
    const write = (): void => {
      while (written < 200 << 20) {
        written += chunk.length;
        if (!socket.write(chunk)) return;
      }
    };
    socket.on('drain', write);
    write();
  };
  const socket = client();
  socket.pause();
  await once(socket, 'connect');
  let before = -1;
  while (before !== written) {
    before = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(written).toBeLessThan(100 << 20);
  socket.destroy();
});

test('cut resets open connections and refuses new ones; open accepts them again on the same port', async () => {
  const socket = client();
  socket.write('x');
  await once(socket, 'data');
  const broken = failure(socket);
  await relay.cut();
  expect(await broken).toBe('ECONNRESET');
  expect(await failure(client())).toBe('ECONNREFUSED');
  await relay.open();
  const again = client();
  again.end('hello');
  expect(await text(again)).toBe('hello');
});

test('breaks the connection when nothing listens behind it', async () => {
  upstream.close();
  await once(upstream, 'close');
  const socket = client();
  expect(await failure(socket)).toBe('ECONNRESET');
});

test('breaks one side when the other side breaks', async () => {
  serve = (socket) => socket.once('data', () => socket.resetAndDestroy());
  const socket = client();
  socket.write('x');
  expect(await failure(socket)).toBe('ECONNRESET');
});

test('rejects with the error of the operating system when the port is in use', async () => {
  const other = new Relay(
    { host: '127.0.0.1', port: (upstream.address() as AddressInfo).port },
    relay.listen,
  );
  await expect(other.open()).rejects.toMatchObject({ code: 'EADDRINUSE' });
});
