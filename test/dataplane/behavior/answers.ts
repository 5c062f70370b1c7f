import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ANSWER_HEADERS, answerBody } from '../../../packages/tidegate/src/dataplane/answers.ts';
import { freePort } from '../support/backend.ts';
import { askRaw } from '../support/client.ts';
import { host, route, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

const head = (line: string, more = ''): string =>
  `${line}\r\nHost: answers.io\r\nConnection: close\r\n${more}\r\n`;

const REQUESTS: [status: number, why: string, bytes: string][] = [
  [308, 'a redirect to HTTPS', 'GET / HTTP/1.1\r\nHost: secure.io\r\nConnection: close\r\n\r\n'],
  [400, 'a request without a host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
  [400, 'a request line that cannot be parsed', head('GET /a\x01b HTTP/1.1')],
  [400, 'a request with two lengths', head('POST / HTTP/1.1', 'Content-Length: 1\r\nContent-Length: 2\r\n')],
  [404, 'an unknown host', 'GET / HTTP/1.1\r\nHost: unknown.io\r\nConnection: close\r\n\r\n'],
  [405, 'TRACE', head('TRACE / HTTP/1.1')],
  [413, 'a body that is too large', head('POST / HTTP/1.1', 'Content-Length: 1001\r\n')],
  [501, 'an unknown transfer coding', head('POST / HTTP/1.1', 'Transfer-Encoding: gzip, chunked\r\n')],
  [502, 'an endpoint that does not listen', head('GET /gone HTTP/1.1')],
  [503, 'an upstream without endpoints', head('GET /empty HTTP/1.1')],
  [504, 'an endpoint that does not answer in time', head('GET /slow HTTP/1.1')],
  [505, 'an unknown version of HTTP', head('GET / HTTP/3.0')],
];

/** The responses of the data plane itself come from one table, so that all data planes give the same ones. */
export function answers(make: MakeDriver): void {
  describe('responses that do not come from an endpoint', () => {
    let world: World;

    beforeAll(async () => {
      world = await World.start(make, { maxBodyBytes: 1000 });
      const good = await world.backend('good');
      const silent = await world.backend('silent', { handle: () => {} });
      await world.change({
        hosts: [
          host('answers.io', [
            route('/empty', 'empty'),
            route('/gone', 'gone'),
            route('/slow', 'silent', { limits: { readTimeoutMs: 200 } }),
            route('/', 'good'),
          ]),
          host('secure.io', 'good', { redirectToHttps: true }),
        ],
        upstreams: [
          upstream('empty', []),
          upstream('gone', [await freePort()]),
          upstream('good', [good.port]),
          upstream('silent', [silent.port]),
        ],
      });
    });
    afterAll(() => world.stop());

    test.each(REQUESTS)(
      'returns %i with the text and headers of the table for %s',
      async (status, _, bytes) => {
        const response = parse(await askRaw(world.ports.http, bytes));
        expect(response.status).toBe(status);
        expect(response.body).toBe(answerBody(status));
        expect(response.headers).toMatchObject(lowerCase(ANSWER_HEADERS));
        expect(response.headers['content-length']).toBe(String(response.body.length));
      },
    );
  });
}

const lowerCase = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

function parse(raw: string): { status: number; headers: Record<string, string>; body: string } {
  const [top = '', body = ''] = raw.split(/\r\n\r\n(.*)/s);
  const [line = '', ...lines] = top.split('\r\n');
  const headers = lines.map((each) => each.split(': ')).map(([name, value]) => [name?.toLowerCase(), value]);
  return { status: Number(line.split(' ')[1]), headers: Object.fromEntries(headers), body };
}
