import { Agent } from 'node:http';
import { Agent as SecureAgent } from 'node:https';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ClientSettings, clientsEntry } from '../../../packages/tidegate/src/ingress/clients/index.ts';
import { readNetwork } from '../../../packages/tidegate/src/ingress/policy/networks.ts';
import { askHttp2, http2Session } from '../support/client.ts';
import { host, route, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Trusts the proxy at 127.0.0.2, and the one at 192.0.2.8. */
const TRUSTED: ClientSettings = {
  trusted: ['127.0.0.2', '192.0.2.8/32', '2001:db8:1::/48'].map((text) => readNetwork(text)!),
  header: 'x-forwarded-for',
  wholeUrl: true,
};

const from = (localAddress: string): { agent: Agent } => ({
  agent: new Agent({ keepAlive: false, localAddress }),
});
const PROXY = from('127.0.0.2');
const STRANGER = from('127.0.0.3');
const SECURE_PROXY = { agent: new SecureAgent({ keepAlive: false, localAddress: '127.0.0.2' }) };

/** Which address, scheme, host and port a client has, if a class has trusted proxies. */
export function clientAddress(make: MakeDriver): void {
  describe('the client of a request', () => {
    let world: World;

    beforeAll(async () => {
      world = await World.start(make);
      const echo = await world.backend('echo');
      const network = readNetwork('198.51.100.7')!;
      await world.change({
        hosts: [
          host('echo.io', 'echo'),
          host('secure.io', 'echo', { redirectToHttps: true }),
          host('policy.io', [route('/', 'echo', { policy: { secure: true } })]),
          host('listed.io', [route('/', 'echo', { policy: { sources: { allow: [network], deny: [] } } })]),
          host('limited.io', [
            route('/', 'echo', {
              policy: { zone: 'shop/web', limit: { requests: [{ perSecond: 0.001, burst: 0 }], exempt: [] } },
            }),
          ]),
        ],
        upstreams: [upstream('echo', [echo.port])],
      });
    });
    afterAll(() => world.stop());

    const believe = (clients: ClientSettings): Promise<void> =>
      world.change({ hosts: [clientsEntry(clients)] });
    const seen = async (
      options: Parameters<World['ask']>[1],
      where = 'echo.io/',
    ): Promise<Record<string, string | undefined>> => (await world.ask(where, options)).echo.headers;

    describe('without settings', () => {
      test('is the other end of the connection, whatever it sends', async () => {
        const headers = await seen({
          ...PROXY,
          headers: { 'X-Forwarded-For': '198.51.100.7', 'X-Forwarded-Proto': 'https' },
        });
        expect(headers).toMatchObject({
          'x-real-ip': '127.0.0.2',
          'x-forwarded-for': '127.0.0.2',
          'x-forwarded-proto': 'http',
          'x-forwarded-host': 'echo.io',
          'x-forwarded-port': `${world.ports.http}`,
        });
      });
    });

    describe('with trusted proxies', () => {
      beforeAll(() => believe(TRUSTED));

      test.each<[string, string, string]>([
        ['the last address', '198.51.100.7', '198.51.100.7'],
        ['the last address, and not one that the client has added', '10.9.9.9, 198.51.100.7', '198.51.100.7'],
        ['the address before a trusted proxy', '198.51.100.7, 192.0.2.8', '198.51.100.7'],
        ['an address of IPv6', '198.51.100.7,2001:db8:2::1', '2001:db8:2::1'],
        ['the address before a trusted proxy of IPv6', '198.51.100.7 , 2001:db8:1::1', '198.51.100.7'],
        ['the first address if all are trusted', '192.0.2.8, 192.0.2.8', '192.0.2.8'],
        ['nothing before what is not an address', '198.51.100.7, unknown, 192.0.2.8', '192.0.2.8'],
        ['the proxy if its text is not an address', '198.51.100.7:80', '127.0.0.2'],
        ['the proxy if the list ends with a comma', '198.51.100.7,', '127.0.0.2'],
        ['the proxy if the text is empty', '', '127.0.0.2'],
      ])('is %s', async (_, header, client) => {
        const headers = await seen({ ...PROXY, headers: { 'X-Forwarded-For': header } });
        expect(headers).toMatchObject({ 'x-real-ip': client, 'x-forwarded-for': client });
      });

      test('is found in several headers, as if they were one', async () => {
        const sent = ['10.9.9.9', '198.51.100.7, 192.0.2.8'];
        const headers = await seen({ ...PROXY, headers: { 'X-Forwarded-For': sent } });
        expect(headers['x-real-ip']).toBe('198.51.100.7');
      });

      test('is the other end of the connection if that is not trusted', async () => {
        const sent = {
          'X-Forwarded-For': '198.51.100.7',
          'X-Forwarded-Proto': 'https',
          'X-Forwarded-Host': 'other.io',
          'X-Forwarded-Port': '9443',
          Forwarded: 'for=198.51.100.7;proto=https;host=other.io',
          'X-Real-IP': '198.51.100.7',
        };
        expect(await seen({ ...STRANGER, headers: sent })).toMatchObject({
          'x-real-ip': '127.0.0.3',
          'x-forwarded-for': '127.0.0.3',
          'x-forwarded-proto': 'http',
          'x-forwarded-host': 'echo.io',
          'x-forwarded-port': `${world.ports.http}`,
        });
      });

      test('is not found in another header than that of the class', async () => {
        const sent = {
          Forwarded: 'for=198.51.100.7',
          'X-Real-IP': '198.51.100.7',
          'CF-Connecting-IP': '198.51.100.7',
        };
        expect((await seen({ ...PROXY, headers: sent }))['x-real-ip']).toBe('127.0.0.2');
      });

      test('has the scheme, host and port that the proxy reports', async () => {
        const sent = {
          'X-Forwarded-Proto': 'https',
          'X-Forwarded-Host': 'www.echo.io',
          'X-Forwarded-Port': '9443',
        };
        expect(await seen({ ...PROXY, headers: sent })).toMatchObject({
          host: 'echo.io',
          'x-forwarded-proto': 'https',
          'x-forwarded-host': 'www.echo.io',
          'x-forwarded-port': '9443',
        });
      });

      test.each<Record<string, string>>([
        { 'X-Forwarded-Proto': 'https,http' },
        { 'X-Forwarded-Proto': 'wss' },
        { 'X-Forwarded-Host': 'a b' },
        { 'X-Forwarded-Host': 'a.io, b.io' },
        { 'X-Forwarded-Port': '70000' },
        { 'X-Forwarded-Port': '080' },
      ])('has what the connection shows if the proxy reports %j', async (sent) => {
        expect(await seen({ ...PROXY, headers: sent })).toMatchObject({
          'x-forwarded-proto': 'http',
          'x-forwarded-host': 'echo.io',
          'x-forwarded-port': `${world.ports.http}`,
        });
      });

      test('is known over HTTPS and HTTP/2 too', async () => {
        const headers = { 'X-Forwarded-For': '198.51.100.7' };
        const { echo } = await world.askSecurely('echo.io/', { ...SECURE_PROXY, headers });
        expect(echo.headers).toMatchObject({ 'x-real-ip': '198.51.100.7', 'x-forwarded-proto': 'https' });
        const session = http2Session(world.ports.https, 'echo.io');
        const other = await askHttp2(session, 'echo.io/', { headers: { 'x-forwarded-for': '198.51.100.7' } });
        session.destroy();
        // The session comes from 127.0.0.1, which is not trusted.
        expect(other.echo.headers['x-real-ip']).toBe('127.0.0.1');
      });

      test('is not redirected to HTTPS if it has used HTTPS at the proxy', async () => {
        for (const where of ['secure.io/', 'policy.io/']) {
          const sent = { 'X-Forwarded-Proto': 'https' };
          expect((await world.ask(where, { ...PROXY, headers: sent })).status).toBe(200);
          expect((await world.ask(where, { ...PROXY })).status).toBe(308);
          expect((await world.ask(where, { ...STRANGER, headers: sent })).status).toBe(308);
        }
      });

      test('is redirected to the host that the proxy reports', async () => {
        const sent = { 'X-Forwarded-Proto': 'http', 'X-Forwarded-Host': 'www.example.com:8080' };
        for (const where of ['secure.io/a?b', 'policy.io/a?b']) {
          const { headers } = await world.ask(where, { ...PROXY, headers: sent });
          expect(headers.location).toBe('https://www.example.com/a?b');
        }
      });

      test('counts for address ranges', async () => {
        const ask = async (options: object, address: string): Promise<number> =>
          (await world.ask('listed.io/', { ...options, headers: { 'X-Forwarded-For': address } })).status;
        expect(await ask(PROXY, '198.51.100.7')).toBe(200);
        expect(await ask(PROXY, '198.51.100.7, 198.51.100.8')).toBe(403);
        expect(await ask(STRANGER, '198.51.100.7')).toBe(403);
      });

      test('counts for rate limits', async () => {
        const ask = async (options: object, address: string): Promise<number> =>
          (await world.ask('limited.io/', { ...options, headers: { 'X-Forwarded-For': address } })).status;
        expect(await ask(PROXY, '198.51.100.21')).toBe(200);
        expect(await ask(PROXY, '198.51.100.21')).toBe(503);
        expect(await ask(PROXY, '198.51.100.22')).toBe(200);
        // A client cannot get a new limit by itself.
        expect(await ask(STRANGER, '198.51.100.23')).toBe(200);
        expect(await ask(STRANGER, '198.51.100.24')).toBe(503);
      });

      test('is in the access log', async () => {
        const headers = {
          'X-Forwarded-For': '198.51.100.7',
          'X-Forwarded-Proto': 'https',
          'X-Request-Id': 'logged-client',
        };
        await world.ask('echo.io/', { ...PROXY, headers });
        await expect
          .poll(async () => (await world.accessLog()).find(({ requestId }) => requestId === 'logged-client'))
          .toMatchObject({ client: '198.51.100.7', scheme: 'https' });
      });
    });

    describe('with other settings', () => {
      test('has only its address from the proxy if the class does not trust the rest', async () => {
        const { wholeUrl: _, ...settings } = TRUSTED;
        await believe(settings);
        const sent = {
          'X-Forwarded-For': '198.51.100.7',
          'X-Forwarded-Proto': 'https',
          'X-Forwarded-Host': 'b.io',
        };
        expect(await seen({ ...PROXY, headers: sent })).toMatchObject({
          'x-real-ip': '198.51.100.7',
          'x-forwarded-proto': 'http',
          'x-forwarded-host': 'echo.io',
        });
      });

      test('has all addresses in X-Forwarded-For if the class asks for them', async () => {
        await believe({ ...TRUSTED, fullForwardedFor: true });
        const sent = { 'X-Forwarded-For': '10.9.9.9, 198.51.100.7' };
        expect(await seen({ ...PROXY, headers: sent })).toMatchObject({
          'x-real-ip': '198.51.100.7',
          'x-forwarded-for': '10.9.9.9, 198.51.100.7, 127.0.0.2',
        });
        expect((await seen({ ...STRANGER, headers: sent }))['x-forwarded-for']).toBe('127.0.0.3');
      });

      test('is found in the header that the class names', async () => {
        await believe({ ...TRUSTED, header: 'cf-connecting-ip' });
        const sent = { 'CF-Connecting-IP': '198.51.100.7', 'X-Forwarded-For': '10.9.9.9' };
        expect((await seen({ ...PROXY, headers: sent }))['x-real-ip']).toBe('198.51.100.7');
        expect((await seen({ ...STRANGER, headers: sent }))['x-real-ip']).toBe('127.0.0.3');
      });

      test.each<[string, string, string, string]>([
        ['for=198.51.100.7;proto=https;host=www.echo.io', '198.51.100.7', 'https', 'www.echo.io'],
        ['For="[2001:db8:2::1]:4711"; proto=http', '2001:db8:2::1', 'http', 'echo.io'],
        ['for=198.51.100.7:80;proto=http, for=192.0.2.8;proto=https', '198.51.100.7', 'https', 'echo.io'],
        ['for=10.9.9.9, for="198.51.100.7"', '198.51.100.7', 'http', 'echo.io'],
        ['for=198.51.100.7, for=unknown;proto=https', '127.0.0.2', 'https', 'echo.io'],
        ['for=198.51.100.7;for=198.51.100.8', '127.0.0.2', 'http', 'echo.io'],
        ['for=198.51.100.7, for="192.0.2.8', '127.0.0.2', 'http', 'echo.io'],
        ['for=198.51.100.7 proto=https', '127.0.0.2', 'http', 'echo.io'],
      ])('is read from the header Forwarded: %s', async (forwarded, client, proto, name) => {
        await believe({ ...TRUSTED, header: 'forwarded' });
        const sent = { Forwarded: forwarded, 'X-Forwarded-For': '10.8.8.8', 'X-Forwarded-Proto': 'wrong' };
        expect(await seen({ ...PROXY, headers: sent })).toMatchObject({
          'x-real-ip': client,
          'x-forwarded-proto': proto,
          'x-forwarded-host': name,
        });
      });

      test('has used the ports of the class', async () => {
        await believe({ ...TRUSTED, ports: { http: 80, https: 9443 } });
        expect((await seen(STRANGER))['x-forwarded-port']).toBe('80');
        expect((await world.askSecurely('echo.io/')).echo.headers['x-forwarded-port']).toBe('9443');
        const sent = { 'X-Forwarded-Proto': 'https' };
        expect((await seen({ ...PROXY, headers: sent }))['x-forwarded-port']).toBe('9443');
        for (const name of ['secure.io', 'policy.io']) {
          const { headers } = await world.ask(`${name}/a?b`);
          expect(headers.location).toBe(`https://${name}:9443/a?b`);
        }
      });

      test('can name neither the entry of the settings nor others like it', async () => {
        await believe(TRUSTED);
        expect((await world.ask('#clients/')).status).toBe(400);
        expect((await world.ask('#clients/')).status).toBe(400);
      });

      test('is the other end of the connection again after the settings are gone', async () => {
        await believe(TRUSTED);
        await world.change({ without: { hosts: [clientsEntry({}).host] } });
        const sent = { 'X-Forwarded-For': '198.51.100.7' };
        expect((await seen({ ...PROXY, headers: sent }))['x-real-ip']).toBe('127.0.0.2');
      });
    });
  });
}
