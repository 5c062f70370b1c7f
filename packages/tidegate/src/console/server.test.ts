import { mkdtempSync, writeFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ConsoleServer } from './server.ts';

let server: ConsoleServer;
let key: string;

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'console-'));
  for (const name of ['index.html', 'main.js', 'style.css', 'icon.svg'])
    writeFileSync(join(folder, name), `content of ${name}`);
  server = await ConsoleServer.listen(0, folder, async ({ path }) => ({ path }));
  key = new URL(server.address).hash.replace('#key=', '');
});
afterAll(() => server.close());

interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** fetch does not send a Host header of the caller's choice. */
const ask = (path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST';
    const sent = request(`${server.origin}${path}`, { method, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });

const withKey = () => ({ authorization: `Bearer ${key}` });

it('serves the page with a policy that allows only its own files', async () => {
  const { status, headers, body } = await ask('/');
  expect({ status, body }).toEqual({ status: 200, body: 'content of index.html' });
  expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
  expect(headers['content-security-policy']).not.toContain('unsafe');
  expect(headers['x-content-type-options']).toBe('nosniff');
});

it('serves no other file', async () => {
  for (const path of ['/../package.json', '/%2e%2e/package.json', '/index.html', '/constructor'])
    expect((await ask(path)).status).toBe(404);
  expect((await ask('//evil.example.com/')).status).toBe(400);
});

it('refuses a name that another site has rebound to a loopback address', async () => {
  const { port } = new URL(server.origin);
  expect((await ask('/', { host: `evil.example.com:${port}` })).status).toBe(421);
  expect((await ask('/', { host: '127.0.0.1:1' })).status).toBe(421);
  expect((await ask('/', { host: `localhost:${port}` })).status).toBe(200);
});

it('refuses requests of other sites, even with the key', async () => {
  const answers = await Promise.all([
    ask('/api/x', { ...withKey(), origin: 'http://evil.example.com' }),
    ask('/api/x', { ...withKey(), origin: 'null' }),
    ask('/api/x', { ...withKey(), 'sec-fetch-site': 'cross-site' }),
    ask('/api/x', { ...withKey(), 'sec-fetch-site': 'same-site' }),
    ask('/main.js', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
});

it('only reads', async () => {
  expect((await ask('/api/x', { ...withKey(), origin: server.origin }, '{}')).status).toBe(405);
});

it('lets a link of another site open the page', async () => {
  const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
  expect((await ask('/', headers)).status).toBe(200);
});

it('answers requests for data only with the key in a header, which browsers never add themselves', async () => {
  expect((await ask('/api/x')).status).toBe(401);
  expect((await ask('/api/x', { authorization: 'Bearer wrong' })).status).toBe(401);
  expect((await ask('/api/x', { cookie: `key=${key}` })).status).toBe(401);
  expect((await ask(`/api/x?key=${key}`)).status).toBe(401);
  const { status, headers, body } = await ask('/api/x', withKey());
  expect({ status, body: JSON.parse(body) }).toEqual({ status: 200, body: { path: 'x' } });
  expect(headers['set-cookie']).toBeUndefined();
});
