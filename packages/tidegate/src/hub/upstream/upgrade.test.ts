import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fixedCredential, Metrics, silentLogger, systemClock } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SmallApi } from './testing/api.ts';
import { Relay } from './testing/relay.ts';
import { writeHead } from './upgrade.ts';
import { Upstream } from './upstream.ts';

/** All data until the end. Unlike an iteration, this leaves the other direction open. */
function readAll(socket: Duplex): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve) => socket.once('end', () => resolve(Buffer.concat(chunks).toString())));
}

type OnUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => void;

describe('an upgrade', () => {
  let api: SmallApi;
  let ways: Relay[];
  let upstream: Upstream;
  let hub: Server;
  let failures: unknown[];
  /** How many upgrades have ended. */
  let over: number;

  beforeEach(async () => {
    api = await new SmallApi().start();
    ways = [await new Relay(api.port).open(), await new Relay(api.port).open()];
    upstream = await Upstream.open({
      servers: ways.map((way) => `http://127.0.0.1:${way.port}`),
      mode: 'priority',
      nodeCredentials: fixedCredential({}),
      userAgent: 'test',
      clock: systemClock,
      log: silentLogger,
      metrics: new Metrics(),
    });
    failures = [];
    over = 0;
    hub = createServer();
    hub.on('upgrade', (request, socket, head) => {
      upstream.upgrade(request, socket, head, { token: 'mine' }).then(
        () => over++,
        (error: unknown) => {
          failures.push(error);
          writeHead(socket, 503, { 'content-length': '0', connection: 'close' });
          socket.end();
        },
      );
    });
    await new Promise<void>((resolve) => hub.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await upstream.close();
    hub.closeAllConnections();
    await new Promise((resolve) => hub.close(resolve));
    await Promise.all(ways.map((way) => way.cut()));
    await api.stop();
  });

  const onUpgrade = (handle: OnUpgrade): void => void api.server.on('upgrade', handle);
  const accept: OnUpgrade = (request, socket) => {
    socket.on('error', () => {});
    writeHead(socket, 101, { connection: 'Upgrade', upgrade: request.headers.upgrade ?? '' });
  };

  function ask(method = 'POST'): Promise<{ socket?: Socket; response: IncomingMessage }> {
    return new Promise((resolve, reject) => {
      const request = httpRequest({
        port: (hub.address() as AddressInfo).port,
        path: '/api/v1/namespaces/a/pods/b/exec?command=sh',
        method,
        headers: {
          connection: 'Upgrade',
          upgrade: 'SPDY/3.1',
          'x-stream-protocol-version': 'v4.channel.k8s.io',
        },
      });
      request.on('upgrade', (response, socket: Socket, head) => {
        socket.unshift(head);
        resolve({ response, socket });
      });
      request.on('response', (response) => resolve({ response }));
      request.on('error', reject);
      request.end();
    });
  }

  it('copies data in both directions, also after one side has closed its direction', async () => {
    let seen: IncomingMessage | undefined;
    onUpgrade((request, socket, head) => {
      seen = request;
      accept(request, socket, head);
      readAll(socket).then((received) => socket.end(`received ${received}`));
    });
    const { socket, response } = await ask();
    expect(response.headers).toMatchObject({ connection: 'Upgrade', upgrade: 'SPDY/3.1' });
    socket!.end('hello');
    expect(await readAll(socket!)).toBe('received hello');
    expect(seen).toMatchObject({ method: 'POST', url: '/api/v1/namespaces/a/pods/b/exec?command=sh' });
    expect(seen!.headers).toMatchObject({
      upgrade: 'SPDY/3.1',
      'x-stream-protocol-version': 'v4.channel.k8s.io',
      authorization: 'Bearer mine',
    });
    await expect.poll(() => over).toBe(1);
  });

  it('lets the client continue when the server has closed its direction', async () => {
    const received = new Promise<string>((resolve) => {
      onUpgrade((request, socket, head) => {
        accept(request, socket, head);
        socket.end('bye');
        readAll(socket).then(resolve);
      });
    });
    const { socket } = await ask();
    socket!.allowHalfOpen = true;
    expect(await readAll(socket!)).toBe('bye');
    socket!.end('more');
    expect(await received).toBe('more');
  });

  it('forwards data that the client sent before the response', async () => {
    const received = new Promise<string>((resolve) => {
      onUpgrade((request, socket, head) => {
        accept(request, socket, head);
        socket.once('data', (data) => resolve(data.toString()));
      });
    });
    const socket = connect((hub.address() as AddressInfo).port, '127.0.0.1');
    socket.write('GET /x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly');
    expect(await received).toBe('early');
    socket.destroy();
  });

  it('returns the response of a server that rejects it', async () => {
    onUpgrade((_, socket) => {
      writeHead(socket, 403, { 'content-type': 'application/json', 'content-length': '17' });
      socket.end('{"kind":"Status"}');
    });
    const { socket, response } = await ask();
    expect(socket).toBeUndefined();
    expect(response.statusCode).toBe(403);
    expect(response.headers['content-type']).toBe('application/json');
    expect(await text(response)).toBe('{"kind":"Status"}');
  });

  it('goes to the next server if the first is unreachable', async () => {
    await expect.poll(() => upstream.servers().every((server) => server.healthy)).toBe(true);
    onUpgrade((request, socket, head) => {
      accept(request, socket, head);
      socket.end('there');
    });
    await ways[0]!.cut();
    const { socket } = await ask();
    expect(await readAll(socket!)).toBe('there');
    await ways[0]!.open();
  });

  it('rejects if no server is reachable, and leaves the response to the hub', async () => {
    await Promise.all(ways.map((way) => way.cut()));
    const { response } = await ask();
    expect(response.statusCode).toBe(503);
    expect(failures).toMatchObject([{ name: 'UpstreamUnavailable', sent: false }]);
    await Promise.all(ways.map((way) => way.open()));
  });

  it('ends when either side closes, and when the hub shuts down', async () => {
    const sockets: Duplex[] = [];
    onUpgrade((request, socket, head) => {
      accept(request, socket, head);
      socket.resume().once('end', () => socket.end());
      sockets.push(socket);
    });
    const closed = (socket: Duplex): Promise<void> =>
      new Promise((resolve) =>
        socket
          .on('error', () => {})
          .once('close', () => resolve())
          .resume(),
      );
    const first = (await ask()).socket!;
    const serverSide = closed(sockets[0]!);
    first.resetAndDestroy();
    await serverSide;
    const second = (await ask('GET')).socket!;
    const clientSide = closed(second);
    sockets[1]!.destroy();
    await clientSide;
    const third = closed((await ask('GET')).socket!);
    await upstream.close();
    await third;
    await expect.poll(() => over).toBe(3);
  });
});
