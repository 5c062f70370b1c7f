import { createHash } from 'node:crypto';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Backend } from '../support/backend.ts';
import { host, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Streaming responses, large bodies and WebSockets. */
export function streams(make: MakeDriver): void {
  describe('streams', () => {
    let world: World;
    let ticker: Backend;
    const open: ServerResponse[] = [];
    const sockets: Duplex[] = [];

    beforeAll(async () => {
      world = await World.start(make);
      ticker = await world.backend('ticker', {
        handle: (message, response) => {
          if (message.url === '/endless') endless(response);
          else {
            response.writeHead(200, { 'Content-Type': 'text/event-stream' });
            response.flushHeaders();
            open.push(response);
          }
        },
        upgrade: (message, socket, head) => {
          sockets.push(socket);
          socket.on('error', () => {});
          if (message.url === '/refused') {
            socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nX-Why: no\r\n\r\nno');
            return;
          }
          const key = String(message.headers['sec-websocket-key']);
          socket.write(
            `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}!\r\n\r\n`,
          );
          socket.write(head);
          socket.pipe(socket);
        },
      });
      const echo = await world.backend('echo');
      const digest = await world.backend('digest', { handle: sendBackDigest });
      await world.change({
        hosts: [host('ticker.io', 'ticker'), host('echo.io', 'echo'), host('digest.io', 'digest')],
        upstreams: [
          upstream('ticker', [ticker.port]),
          upstream('echo', [echo.port]),
          upstream('digest', [digest.port]),
        ],
      });
    });
    afterAll(async () => {
      for (const response of open) response.destroy();
      for (const socket of sockets) socket.destroy();
      await world.stop();
    });

    const begin = (path: string): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        request({ port: world.ports.http, path, headers: { host: 'ticker.io' }, agent: false }, resolve)
          .on('error', reject)
          .end();
      });

    test('forwards each part of a response immediately', async () => {
      const answer = await begin('/events');
      const pieces = answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
      const response = open.at(-1)!;
      for (const word of ['one', 'two', 'three']) {
        response.write(word);
        expect(String((await pieces.next()).value)).toBe(word);
      }
      response.end();
      expect((await pieces.next()).done).toBe(true);
    });

    test('aborts the response to the client if the endpoint aborts it', async () => {
      const answer = await begin('/events');
      open.at(-1)!.write('half');
      const reading = (async () => {
        for await (const _ of answer);
      })();
      await new Promise((resolve) => answer.once('readable', resolve));
      open.at(-1)!.destroy();
      await expect(reading).rejects.toThrow();
    });

    test('cancels the request to the endpoint if the client disconnects', async () => {
      const answer = await begin('/events');
      const response = open.at(-1)!;
      const closed = new Promise((resolve) => response.once('close', resolve));
      answer.destroy();
      await closed;
    });

    test('applies backpressure to the endpoint if the client does not read', async () => {
      const answer = await begin('/endless');
      answer.pause();
      let last = -1;
      // The endpoint sends until all buffers in between are full.
      await expect
        .poll(
          () => {
            const isBlocked = endlessBytes === last;
            last = endlessBytes;
            return isBlocked;
          },
          { interval: 300 },
        )
        .toBe(true);
      expect(endlessBytes).toBeLessThan(64 * 1024 * 1024);
      answer.destroy();
    });

    test('forwards large bodies completely in both directions', async () => {
      const body = Buffer.alloc(5_000_000);
      for (let at = 0; at < body.length; at += 4) body.writeUInt32LE(at, at);
      const { body: response, headers } = await world.ask('digest.io/', { method: 'PUT', body });
      expect(headers['x-digest']).toBe(sha(body));
      expect(response.length).toBe(2_000_000);
    });

    test('forwards a response that is sent before the end of the request', async () => {
      const hasty = await world.backend('hasty', {
        handle: (_, response) => response.writeHead(401, { 'X-Hasty': 'yes' }).end('no'),
      });
      await world.change({
        hosts: [host('hasty.io', 'hasty')],
        upstreams: [upstream('hasty', [hasty.port])],
      });
      const asked = request({
        ...{ port: world.ports.http, method: 'POST', agent: false },
        headers: { host: 'hasty.io', 'Transfer-Encoding': 'chunked' },
      });
      asked.on('error', () => {});
      asked.write('begins');
      const answer = await new Promise<IncomingMessage>((resolve) => asked.once('response', resolve));
      expect(answer.statusCode).toBe(401);
      expect(answer.headers['x-hasty']).toBe('yes');
      answer.resume();
      await new Promise((resolve) => answer.once('end', resolve));
      asked.destroy();
    });

    const upgrade = (
      path: string,
      { secure = false } = {},
    ): Promise<{ status: number; message: IncomingMessage; socket?: Socket }> =>
      new Promise((resolve, reject) => {
        const headers = {
          ...{ host: 'ticker.io', Connection: 'Upgrade', Upgrade: 'websocket' },
          ...{ 'Sec-WebSocket-Key': 'key', 'Sec-WebSocket-Version': '13' },
        };
        const { http, https } = world.ports;
        const asked = secure
          ? secureRequest({ port: https, path, headers, agent: false, rejectUnauthorized: false })
          : request({ port: http, path, headers, agent: false });
        asked
          .on('upgrade', (message, socket: Socket) => resolve({ status: 101, message, socket }))
          .on('response', (message) => resolve({ status: message.statusCode ?? 0, message }))
          .on('error', reject)
          .end();
      });

    test.each([false, true])('forwards WebSockets, over TLS: %s', async (secure) => {
      const { message, socket } = await upgrade('/', { secure });
      expect(message.headers).toMatchObject({ upgrade: 'websocket', 'sec-websocket-accept': 'key!' });
      for (const word of ['hello', '\x81\x05again']) {
        socket!.write(word, 'latin1');
        expect(String(await new Promise((resolve) => socket!.once('data', resolve)))).toBe(
          Buffer.from(word, 'latin1').toString(),
        );
      }
      const closed = new Promise((resolve) => sockets.at(-1)!.once('close', resolve));
      socket!.destroy();
      await closed;
    });

    test('keeps a WebSocket open when its route is removed', async () => {
      const { socket } = await upgrade('/');
      await world.change({ without: { hosts: ['ticker.io'], upstreams: ['ticker'] } });
      expect(await world.respondingBackend('ticker.io/')).toBe(404);
      socket!.write('still here');
      expect(String(await new Promise((resolve) => socket!.once('data', resolve)))).toBe('still here');
      socket!.destroy();
      await world.change({
        hosts: [host('ticker.io', 'ticker')],
        upstreams: [upstream('ticker', [ticker.port])],
      });
    });

    test('forwards the rejection of a WebSocket, and rejects an invalid path', async () => {
      const refused = await upgrade('/refused');
      expect(refused).toMatchObject({ status: 403 });
      expect(refused.message.headers['x-why']).toBe('no');
      refused.message.resume();
      const nowhere = await upgrade('/x/../y');
      expect(nowhere.status).toBe(400);
      nowhere.message.resume();
    });

    test('upgrades to no other protocol than WebSocket', async () => {
      const { echo } = await world.ask('echo.io/', {
        headers: {
          Connection: 'Upgrade, HTTP2-Settings',
          Upgrade: 'h2c',
          'HTTP2-Settings': 'AAMAAABkAAQAAP__',
        },
      });
      expect(echo.headers).not.toHaveProperty('upgrade');
      expect(echo.headers).not.toHaveProperty('http2-settings');
    });
  });
}

let endlessBytes = 0;

function endless(response: ServerResponse): void {
  const piece = Buffer.alloc(64 * 1024);
  endlessBytes = 0;
  const more = (): void => {
    while (!response.destroyed) {
      endlessBytes += piece.length;
      if (!response.write(piece)) break;
    }
  };
  response.on('drain', more);
  response.on('error', () => {});
  more();
}

const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

function sendBackDigest(message: IncomingMessage, response: ServerResponse): void {
  const hash = createHash('sha256');
  message.on('data', (chunk: Buffer) => hash.update(chunk));
  message.on('end', () => {
    response.setHeader('X-Digest', hash.digest('hex'));
    response.end(Buffer.alloc(2_000_000, 'y'));
  });
}
