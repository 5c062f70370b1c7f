import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MAX_HEAD_BYTES, MAX_LINE_BYTES } from '../../../packages/tidegate/src/dataplane/limits.ts';
import { askHttp2, askRaw, http2Session, statusOf } from '../support/client.ts';
import { TcpServer } from '../support/tcp-server.ts';
import { host, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

const HOST = 'Host: strict.io\r\n';
const CLOSE = 'Connection: close\r\n';
const get = (more: string, line = 'GET / HTTP/1.1'): string => `${line}\r\n${HOST}${more}${CLOSE}\r\n`;
const post = (more: string, body: string): string => `POST / HTTP/1.1\r\n${HOST}${CLOSE}${more}\r\n${body}`;
const websocket = (more: string): string =>
  `GET / HTTP/1.1\r\n${HOST}Connection: Upgrade\r\nUpgrade: websocket\r\n${more}\r\nabc`;

/** Two parsers may read these differently, so none of them reaches an endpoint. */
const REFUSED: Record<string, string> = {
  'a request line that ends with a bare LF': `GET / HTTP/1.1\n${HOST}${CLOSE}\r\n`,
  'a header that ends with a bare LF': get('X-A: b\n'),
  'a header that ends with spaces and a bare LF': get('X-A: b  \n'),
  'a bare LF before the empty line': `GET / HTTP/1.1\r\n${HOST}Connection: close\n\r\n`,
  'an empty line that is a bare LF': `GET / HTTP/1.1\r\n${HOST}Connection: close\n\n`,
  'bare LFs only': 'GET / HTTP/1.1\nHost: strict.io\nConnection: close\n\n',
  'a bare LF after a header that is discarded': get('X_A: b\n'),
  'a bare LF, and a header that is discarded': get('X-A: b\nX-B: c\r\nX_C: d\r\n'),
  'bare LFs around a line that is discarded': `GET / HTTP/1.1\r\n_\n${HOST}Connection: close\n\n`,
  'a line without a colon': get('X-A\r\n'),
  'a line that continues the one before': get('X-A: b\r\n c\r\n'),
  'a space before the colon': get('X-A : b\r\n'),
  'a name that is not a token': get('"X-A": b\r\n'),
  'a control character in a value': get('X-A: b\x01c\r\n'),
  'a CR in a value': get('X-A: b\rc\r\n'),
  'an absolute target': get('', 'GET http://strict.io/ HTTP/1.1'),
  'an absolute target of another host': get('', 'GET http://other.io/ HTTP/1.1'),
  'an absolute target without a path': get('', 'GET http://strict.io HTTP/1.1'),
  'a target without a leading slash': get('', 'GET strict.io/ HTTP/1.1'),
  'an asterisk as target': get('', 'OPTIONS * HTTP/1.1'),
  'a target with a byte that is not ASCII': get('', 'GET /\xe9 HTTP/1.1'),
  'a query with a byte that is not ASCII': get('', 'GET /?\xe9 HTTP/1.1'),
  'a fragment': get('', 'GET /?a#b HTTP/1.1'),
  'an unknown method': get('', 'FROB / HTTP/1.1'),
  'an unknown minor version': get('', 'GET / HTTP/1.2'),
  'two equal hosts': get(HOST),
  'a list of equal lengths': post('Content-Length: 3, 3\r\n', 'abc'),
  'two equal lengths': post('Content-Length: 3\r\nContent-Length: 3\r\n', 'abc'),
  'a length and a transfer coding': post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'two transfer codings': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
  'a transfer coding with a control character': post('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n'),
  'a Connection header that names the length': post(
    'Connection: Content-Length\r\nContent-Length: 3\r\n',
    'abc',
  ),
  'a Connection header that names the host': get('Connection: close, Host\r\n'),
  'an upgrade with a body': websocket('Content-Length: 3\r\n'),
};

/** What CGI and WSGI turn into the same variables as the headers that the router sets, or that identities rest on. */
const LOOKALIKES = [
  ...['X_Forwarded_For', 'X-Forwarded_For', 'x_forwarded_proto', 'X_Forwarded_Host', 'X_Forwarded_Port'],
  ...[
    'X_Real_IP',
    'X.Real.IP',
    'X.Forwarded.For',
    'X_Request_Id',
    'X_Remote_User',
    'X_Any',
    'Content_Length',
  ],
  ...['Transfer_Encoding', 'X~Real~IP', "X'Real'IP"],
];

/** The same bytes are refused, or understood in the same way, by all data planes. */
export function strictness(make: MakeDriver): void {
  describe('a strict reading of requests', () => {
    let world: World;
    const endpoint = new RecordingServer();

    beforeAll(async () => {
      world = await World.start(make);
      await endpoint.start();
      await world.change({
        hosts: [host('strict.io', 'strict')],
        upstreams: [upstream('strict', [endpoint.port])],
      });
    });
    beforeEach(() => {
      endpoint.received = '';
    });
    afterAll(async () => {
      await world.stop();
      await endpoint.stop();
    });

    const status = async (bytes: string, secure = false): Promise<number> =>
      statusOf(await askRaw(secure ? world.ports.https : world.ports.http, bytes, { secure }));

    test.each(Object.entries(REFUSED))('refuses %s, and closes the connection', async (_, bytes) => {
      const next = `GET /next HTTP/1.1\r\n${HOST}${CLOSE}\r\n`;
      const answer = await askRaw(world.ports.http, bytes + next);
      expect([400, 501, 505]).toContain(statusOf(answer));
      expect(answer.match(/^HTTP\/1\.1 /gm)).toHaveLength(1);
      expect(await status(bytes, true)).toBe(statusOf(answer));
      expect(endpoint.received).toBe('');
    });

    test('discards headers that CGI and WSGI would take for others', async () => {
      const lines = LOOKALIKES.map((name) => `${name}: forged\r\n`).join('');
      expect(await status(get(`${lines}X-Good: kept \r\n`))).toBe(200);
      expect(endpoint.received).toMatch(/^X-Good: kept\r$/m);
      expect(endpoint.received).not.toContain('forged');
      const session = http2Session(world.ports.https, 'strict.io');
      try {
        const headers = Object.fromEntries(LOOKALIKES.map((name) => [name.toLowerCase(), 'forged']));
        expect((await askHttp2(session, 'strict.io/', { headers })).status).toBe(200);
        expect(endpoint.received).not.toContain('forged');
      } finally {
        session.destroy();
      }
    });

    test('discards the headers that the Connection header names', async () => {
      const more = 'Connection: X-A, X-Forwarded-For\r\nX-A: hidden\r\nX-B: kept\r\n';
      expect(await status(get(more))).toBe(200);
      expect(endpoint.received).not.toContain('hidden');
      expect(endpoint.received).toMatch(/^X-B: kept\r$/m);
      expect(endpoint.received).toMatch(/^X-Forwarded-For: 127\.0\.0\.1\r$/m);
    });

    test('discards trailers of requests', async () => {
      const more = 'Transfer-Encoding: chunked\r\nTrailer: X-End\r\nProxy-Connection: keep-alive\r\n';
      const body = '3\r\nabc\r\n0\r\nX-End: hidden\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n';
      expect(await status(post(more, body))).toBe(200);
      expect(endpoint.received).toContain('abc');
      expect(endpoint.received).not.toMatch(/hidden|6\.6\.6\.6|trailer|proxy-connection/i);
    });

    test('discards trailers of responses', async () => {
      endpoint.answer =
        'HTTP/1.1 200 OK\r\nTrailer: X-End\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-End: hidden\r\n\r\n';
      const answer = await askRaw(world.ports.http, get(''));
      endpoint.answer = undefined;
      expect(answer).toContain('abc');
      expect(answer).not.toMatch(/hidden|trailer/i);
    });

    const target = (bytes: number): string => get('', `GET /${'a'.repeat(bytes)} HTTP/1.1`);
    const header = (bytes: number): string => get(`X-A: ${'a'.repeat(bytes)}\r\n`);
    const LINE = MAX_LINE_BYTES - 'GET / HTTP/1.1\r\n'.length;
    const VALUE = MAX_LINE_BYTES - 'X-A: \r\n'.length;
    const several = (count: number, bytes: number): string =>
      get(Array.from({ length: count }, (_, i) => `X-${i}: ${'a'.repeat(bytes)}\r\n`).join(''));

    test.each([
      ['a target of the largest size', 200, target(LINE)],
      ['a target that is too long', 414, target(LINE + 1)],
      ['a header of the largest size', 200, header(VALUE)],
      ['a header that is too large', 431, header(VALUE + 1)],
      ['a head of nearly the largest size', 200, several(7, 9_000)],
      ['a head that is too large', 431, several(8, MAX_HEAD_BYTES / 8)],
      ['many headers', 200, several(490, 1)],
      ['too many headers', 431, several(500, 1)],
    ])('answers %s with %i', async (_, expected, bytes) => {
      expect(await status(bytes)).toBe(expected);
    });

    test('ignores expectations that it does not know', async () => {
      expect(await status(post('Expect: something\r\nContent-Length: 3\r\n', 'abc'))).toBe(200);
      expect(endpoint.received).toMatch(/abc$/);
    });
  });
}

/** Records the bytes that it receives, and answers each request. It does not parse more of them than it must. */
class RecordingServer extends TcpServer {
  received = '';
  answer: string | undefined;

  constructor() {
    super((socket) => this.#record(socket));
  }

  #record(socket: Socket): void {
    socket.setEncoding('latin1');
    let seen = '';
    socket.on('data', (text: string) => {
      seen += text;
      this.received += text;
      const isChunked = /^transfer-encoding: chunked\r$/im.test(seen);
      const length = Number(/^content-length: (\d+)\r$/im.exec(seen)?.[1] ?? 0);
      const [, body] = seen.split(/\r\n\r\n(.*)/s);
      if (body === undefined || (isChunked ? !body.endsWith('0\r\n\r\n') : body.length < length)) return;
      seen = '';
      socket.write(this.answer ?? 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  }
}
