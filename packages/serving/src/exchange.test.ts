import { randomBytes } from 'node:crypto';
import { createServer, get, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { type AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { afterEach, expect, it } from 'vitest';
import { Exchange } from './exchange.ts';

const MIB = 1 << 20;
const parts = Array.from({ length: 16 }, () => randomBytes(MIB / 2));
let server: Server | undefined;
afterEach(() => server?.close());

it('compresses a list only as fast as the client reads it', async () => {
  const request = new IncomingMessage(new Socket());
  request.headers['accept-encoding'] = 'gzip';
  const response = new ServerResponse(request);
  void new Exchange(request, response).bytes(200, 'application/json', parts);
  await expect.poll(() => response.writableLength).toBeGreaterThan(0);
  expect(response.writableLength).toBeLessThan(MIB);
});

it('sends all of it', async () => {
  server = createServer((request, response) => {
    void new Exchange(request, response).bytes(200, 'application/json', parts);
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const headers = { 'accept-encoding': 'gzip' };
  const response = await new Promise<IncomingMessage>((resolve) => {
    get({ host: '127.0.0.1', port, headers, agent: false }, resolve);
  });
  expect(response.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(await buffer(response)).equals(Buffer.concat(parts))).toBe(true);
});
