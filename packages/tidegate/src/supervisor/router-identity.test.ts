import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '@tidegate/kube';
import { expect, it, onTestFinished } from 'vitest';
import { EmbeddedDriver } from '../dataplane/embedded/index.ts';
import { whoAnswers } from './router-identity.ts';

const OWN = '6b1f60a4-5f1e-4bb1-9d0e-0e6f3a6a7f10';
const OTHER = '00000000-5f1e-4bb1-9d0e-0e6f3a6a7f10';

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

async function router(identity: string | undefined): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-identity-'));
  const driver = new EmbeddedDriver(
    {
      address: '127.0.0.1',
      httpPort: 0,
      httpsPort: 0,
      directory,
      className: 'gold',
      identity,
      defaults: { connectTimeoutMs: 1000, readTimeoutMs: 1000, maxBodyBytes: 0 },
    },
    { log: silentLogger },
  );
  onTestFinished(async () => {
    await driver.close();
    await rm(directory, { recursive: true });
  });
  return `http://127.0.0.1:${(await driver.start()).http}`;
}

it('recognizes the router with the expected UID, also before it has routes', async () => {
  const url = await router(OWN);
  expect(await whoAnswers(url, OWN)).toEqual({ url, from: 'router' });
});

it.each([
  ['a router with another UID', () => router(OTHER)],
  ['a router without a UID', () => router(undefined)],
  ['a program that answers everything', () => serve((_, response) => response.end('hello'))],
  [
    'a program that calls itself tidegate',
    () => serve((_, response) => response.writeHead(200, { server: 'tidegate' }).end('welcome\n')),
  ],
])('does not take %s for it', async (_, start) => {
  expect((await whoAnswers(await start(), OWN)).from).toBe('stranger');
});

it('reports that no program answers', async () => {
  const url = await serve(() => {});
  expect(await whoAnswers(url.replace(/\d+$/, '1'), OWN)).toMatchObject({ from: 'none' });
});

it('accepts any answer of a router that is not a program of Tidegate', async () => {
  const url = await serve((_, response) => response.writeHead(404).end());
  expect((await whoAnswers(url, undefined)).from).toBe('router');
});
