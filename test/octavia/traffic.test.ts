import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { REQUESTS, routingTable } from '../dataplane/behavior/routing.ts';
import { conformance } from '../dataplane/conformance.ts';
import { shownCertificate } from '../dataplane/support/client.ts';
import { certificate, host, route, upstream } from '../dataplane/support/words.ts';
import { type MakeDriver, World } from '../dataplane/support/world.ts';
import { OctaviaDriver } from './support/driver.ts';
import { OctaviaServer } from './support/octavia.ts';

let server: OctaviaServer;
let notFound: Server;

beforeAll(async () => {
  server = await OctaviaServer.start();
  notFound = createServer((_, response) => response.writeHead(404).end('not found\n'));
  await new Promise<void>((resolve) => notFound.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  await new Promise((resolve) => notFound?.close(resolve));
  await server?.stop();
});

const make: MakeDriver = (options) =>
  new OctaviaDriver(server, options, (notFound.address() as AddressInfo).port);

// HAProxy forwards the Server header of endpoints and adds none.
conformance(make, { own: [] });

/** HAProxy reads requests less strictly than the other data planes: it forwards some that they answer with 400. */
const isExpressible = ([, expected]: readonly [string, string | number]): boolean => expected !== 400;

describe('routing as in the other data planes', () => {
  let world: World;

  beforeAll(async () => {
    world = await World.start(make);
    const one = await world.backend('one');
    const two = await world.backend('two');
    const other = await world.backend('other');
    const { hosts = [], upstreams = [] } = routingTable(one.port, two.port);
    await world.change({
      hosts: [
        // HTTPS has tests of its own below.
        ...hosts.filter(({ redirectToHttps }) => redirectToHttps !== true),
        host('weights.io', [route('/', { one: 3, other: 1, none: 0 })]),
        host('odd.io', [route('/a.b&"c', 'one'), route('/a.b', 'two', { match: 'Exact' })]),
      ],
      upstreams: [...upstreams, upstream('other', [other.port])],
    });
  });
  afterAll(() => world?.stop());

  test.each(REQUESTS.filter(isExpressible))('sends %s to %s', async (where, expected) =>
    expect(await world.respondingBackend(where)).toBe(expected),
  );

  test.each([
    ['odd.io/a.b&"c/d', 'one'],
    ['odd.io/a.b', 'two'],
    ['odd.io/aXb', 404],
    ['odd.io/a.b&"cd', 404],
  ])('compares characters with a meaning for HAProxy literally: sends %s to %s', async (where, expected) =>
    expect(await world.respondingBackend(where)).toBe(expected),
  );

  test('refuses a route with headers, and serves the others', () => {
    const { failed } = world.driver as OctaviaDriver;
    expect([...failed].map(([name, { reason }]) => [name, reason])).toEqual([
      ['a.example.com', 'HeadersNotSupported'],
    ]);
  });

  test('distributes requests by weight', async () => {
    const counts: Record<string, number> = {};
    for (let i = 0; i < 100; i++) {
      const by = await world.respondingBackend('weights.io/');
      counts[by] = (counts[by] ?? 0) + 1;
    }
    expect(counts).toEqual({ one: 75, other: 25 });
  });

  test('returns 503 for an upstream that loses its last endpoint', async () => {
    await world.change({ upstreams: [upstream('two', [])] });
    expect(await world.respondingBackend('b.example.com/y')).toBe(503);
  });
});

describe('HTTPS as in the other data planes', () => {
  const authority = new TestAuthority();
  const own = () => certificate('secure.io', authority.issue(['secure.io']));
  let world: World;
  const shown = (name: string) => shownCertificate(world.ports.https, name);

  beforeAll(async () => {
    world = await World.start(make);
    const one = await world.backend('one');
    await world.change({
      hosts: [host('secure.io', 'one', { redirectToHttps: true })],
      upstreams: [upstream('one', [one.port])],
      certificates: [own()],
    });
  });
  afterAll(() => world?.stop());

  test('redirects to HTTPS if the host requires it', async () => {
    const { status, headers } = await world.ask('secure.io:80/a%2Fb?c=d', { method: 'POST' });
    expect(status).toBe(308);
    expect(headers.location).toBe('https://secure.io/a%2Fb?c=d');
    expect((await world.askSecurely('secure.io/')).echo.backend).toBe('one');
  });

  test('sets the X-Forwarded headers', async () => {
    const { echo } = await world.askSecurely('secure.io/');
    expect(echo.headers).toMatchObject({ 'x-forwarded-proto': 'https', 'x-forwarded-for': '127.0.0.1' });
  });

  test('presents the certificate of the host, else its own, and a new one after a rotation', async () => {
    const before = await shown('secure.io');
    expect(before.subject?.CN).toBe('secure.io');
    expect((await shown('other.io')).subject?.CN).toBe('default-certificate.tidegate.invalid');
    await world.change({ certificates: [own()] });
    expect((await shown('secure.io')).fingerprint256).not.toBe(before.fingerprint256);
    // The old certificate is deleted when no listener uses it.
    expect((await readdir(server.certificates)).filter((file) => file.endsWith('.crt'))).toHaveLength(2);
  });
});
