import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { NodeRow } from '@tidegate/console/wire';
import { fixedCredential, KubeClient } from '@tidegate/kube';
import { afterEach, expect, it } from 'vitest';
import { Feed } from './feed.ts';
import { stream } from './stream.ts';

const HELLO = { version: '1', server: 'https://api' };
const client = new KubeClient({
  server: 'https://127.0.0.1:1',
  credentials: fixedCredential({}),
  namespace: 'default',
});
let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const row = (key: string, address: string): NodeRow => ({ kind: 'Node', key, ready: 'True', address });

/** A stream of this feed that has begun. */
async function open(feed: Feed): Promise<IncomingMessage> {
  server = createServer((_, response) => stream(response, feed, HELLO));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false }, resolve).on('error', reject);
  });
}

/** Reads until the text contains the pattern. Rejects if the stream ends before. */
async function readUntil(response: IncomingMessage, pattern: string): Promise<string> {
  const chunks: string[] = [];
  for await (const chunk of response.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    chunks.push(chunk);
    if (chunks.slice(-2).join('').includes(pattern)) return chunks.join('');
  }
  throw new Error(`the stream ended after ${chunks.length} chunks`);
}

const count = (text: string, part: string): number => text.split(part).length - 1;

it('sends a state of any size', async () => {
  const feed = new Feed(client);
  for (let i = 0; i < 400; i++) feed.put(row(`n${i}`, 'x'.repeat(50_000)));
  const text = await readUntil(await open(feed), 'loading');
  expect(count(text, '"key":"n')).toBe(400);
  expect(text.length).toBeGreaterThan(20_000_000);
});

it('keeps one row of each object for a browser that does not read', async () => {
  const feed = new Feed(client);
  for (let i = 0; i < 400; i++) feed.put(row(`n${i}`, 'x'.repeat(50_000)));
  const response = await open(feed);
  for (let change = 1; change <= 5; change++) {
    for (let i = 0; i < 400; i++) feed.put(row(`n${i}`, `${change} ${'y'.repeat(50_000)}`));
    feed.flush();
  }
  feed.put(row('last', 'z'));
  feed.flush();
  const text = await readUntil(response, '"last"');
  // Those that were on their way already come twice.
  expect(count(text, '"key":"n')).toBeLessThanOrEqual(3 * 400);
  expect(count(text, '"5 y')).toBe(400);
});
