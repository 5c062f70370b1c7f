import { createServer, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { sendFrames } from './event-chunks.ts';

const frame = (text: string): Buffer => Buffer.from(`{"type":"ADDED","object":"${text}"}\n`);
const [a, b, c] = [frame('a'), frame('b'), frame('c'.repeat(5000))];

let server: Server;

/** A server that answers with chunks; `/plain` does so with `response.write`. */
async function start(answer: (response: ServerResponse, path: string) => void): Promise<number> {
  server = createServer((incoming, response) => {
    response.writeHead(200, { 'Transfer-Encoding': 'chunked', Date: 'now' });
    response.flushHeaders();
    answer(response, incoming.url ?? '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Everything that the server sends until it closes the connection. */
function exchange(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(text));
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      received += chunk;
    });
    socket.on('end', () => resolve(received));
    socket.on('error', reject);
  });
}

const close = (path: string, method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;

afterEach(() => new Promise((resolve) => server.close(resolve)));

describe('events as chunks', () => {
  it('are the same bytes that the response would send', async () => {
    const port = await start((response, path) => {
      const send = (frames: Buffer[]): void => {
        if (path === '/plain') response.write(Buffer.concat(frames));
        else sendFrames(response, frames);
      };
      send([a]);
      send([b, c]);
      // The same buffer again, as for the second watcher.
      send([a]);
      send([c]);
      response.end();
    });
    expect(await exchange(port, close('/'))).toBe(await exchange(port, close('/plain')));
  });

  it('keep their order with other writes to the response', async () => {
    const port = await start((response) => {
      response.write('1');
      sendFrames(response, [a]);
      response.write('2');
      sendFrames(response, [b]);
      sendFrames(response, []);
      response.end('3');
    });
    const body = await new Promise<string>((resolve, reject) => {
      request({ port, host: '127.0.0.1' }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve(text));
      })
        .on('error', reject)
        .end();
    });
    expect(body).toBe(`1${a}2${b}3`);
  });

  it('wait for the responses to earlier requests on the same connection', async () => {
    const open: ServerResponse[] = [];
    const port = await start((response) => {
      open.push(response);
      sendFrames(response, [open.length === 1 ? a : b]);
      if (open.length < 2) return;
      sendFrames(response, [b]);
      for (const each of [...open].reverse()) each.end();
    });
    const answered = await exchange(port, `GET /1 HTTP/1.1\r\nHost: a\r\n\r\n${close('/2')}`);
    const bodies = answered.split('HTTP/1.1 200 OK').slice(1);
    expect(bodies).toHaveLength(2);
    expect(bodies[0]).toContain(a.toString());
    expect(bodies[0]).not.toContain(b.toString());
    expect(bodies[1]?.split(b.toString())).toHaveLength(3);
  });

  it('are not sent in the response to HEAD', async () => {
    const port = await start((response) => {
      sendFrames(response, [a]);
      response.end();
    });
    const answered = await exchange(port, close('/', 'HEAD'));
    expect(answered).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(answered).toMatch(/\r\n\r\n$/);
    expect(answered).not.toContain('ADDED');
  });

  it('are dropped after the client has disconnected', async () => {
    const gone = new Promise<ServerResponse>((resolve) => {
      void start((response) => {
        response.on('close', () => resolve(response));
        response.req.socket.destroy();
      }).then((port) => exchange(port, close('/')).catch(() => undefined));
    });
    const response = await gone;
    expect(() => sendFrames(response, [a, b])).not.toThrow();
  });
});
