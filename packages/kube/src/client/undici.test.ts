import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import * as publicUndici from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const { version } = createRequire(import.meta.url)('undici/package.json') as { version: string };
const INCOMPATIBLE =
  `undici ${version} is incompatible: packages/kube/src/client/undici.ts imports private files of undici, and ` +
  'this version has moved or changed them. Pin a compatible version, or adapt the imports.';

const server = createServer((_request, response) => response.end('ok'));
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => server.close());

/** Imported inside the tests, so that a missing file fails with the message above. */
const load = () =>
  import('./undici.ts').catch((cause: unknown) => {
    throw new Error(INCOMPATIBLE, { cause });
  });

describe('the private files of undici', () => {
  it('export the same classes as the index', async () => {
    const parts = await load();
    expect(parts.Dispatcher, INCOMPATIBLE).toBe(publicUndici.Dispatcher);
    expect(parts.Pool, INCOMPATIBLE).toBe(publicUndici.Pool);
    expect(parts.ProxyAgent, INCOMPATIBLE).toBe(publicUndici.ProxyAgent);
    expect(Object.keys(parts.errors), INCOMPATIBLE).toEqual(Object.keys(publicUndici.errors));
  });

  it('have dispatchers that can send requests and upgrade connections', async () => {
    const { Pool, request } = await load();
    for (const verb of [
      'request',
      'stream',
      'pipeline',
      'upgrade',
      'connect',
      'dispatch',
      'close',
      'destroy',
    ]) {
      expect(Pool.prototype, INCOMPATIBLE).toHaveProperty(verb, expect.any(Function));
    }
    const { port } = server.address() as AddressInfo;
    const dispatcher = new Pool(`http://127.0.0.1:${port}`);
    const { statusCode, body } = await request(`http://127.0.0.1:${port}/healthz?verbose`, {
      dispatcher,
      method: 'GET',
    });
    expect([statusCode, await body.text()], INCOMPATIBLE).toEqual([200, 'ok']);
    await dispatcher.close();
  });
});
