import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { service } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import { askHttp2, http2Session } from '../support/client.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Hosts and paths in headers of endpoints. */
export function responses(make: MakeDriver): void {
  describe('hosts and paths in responses', () => {
    let it: PolicyCluster;
    /** What the endpoint sends. */
    let sent: Record<string, string | string[]>;
    let made = 0;

    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      it.cluster.put('Service', service('moved', ['http:80']));
      it.endpoint(
        'moved',
        await it.backend('moved', { handle: (_, to) => void to.writeHead(302, sent).end() }),
      );
    });
    afterAll(() => it.stop());

    const serve = async (annotations: Record<string, string>): Promise<string> => {
      const host = `re${made++}.io`;
      await it.serve({ [`${host}/`]: 'moved:80' }, annotations);
      return host;
    };
    const headers = async (host: string, from: typeof sent) => {
      sent = from;
      return (await it.world.ask(`${host}:80/a?b`)).headers;
    };

    test.each([
      ['http://in.io:8080/', 'https://out.io/', 'http://in.io:8080/x?y', 'https://out.io/x?y'],
      ['http://in.io/', 'https://out.io/', 'http://other.io/x', 'http://other.io/x'],
      ['http://in.io/', 'https://out.io/', 'HTTP://in.io/x', 'HTTP://in.io/x'],
      ['/', '$scheme://$http_host/app/', '/x', 'http://HOST:80/app/x'],
      ['http://in.io/', '/app/', 'http://in.io/x', 'http://HOST/app/x'],
      ['http://$host/', 'https://$host/', 'http://HOST/x', 'https://HOST/x'],
      [
        '~^http://([a-z]+)\\.in\\.io(/.*)$',
        'https://out.io/$1$2?u=$uri',
        'http://a.in.io/x',
        'https://out.io/a/x?u=/a',
      ],
      ['~*^HTTP://IN', 'https://out.io/', 'http://in.io/x', 'https://out.io/'],
      ['~^HTTP://IN', 'https://out.io/', 'http://in.io/x', 'http://in.io/x'],
      ['~in', 'https://out.io/', 'http://in.io/x', 'https://out.io/'],
      ['off', 'https://out.io/', 'http://in.io/x', 'http://in.io/x'],
      ['default', 'https://out.io/', 'http://in.io/x', 'http://in.io/x'],
      ['http://in.io/', 'off', 'http://in.io/x', 'http://in.io/x'],
    ])('with %s to %s, the location %s becomes %s', async (from, to, location, expected) => {
      const host = await serve({ 'proxy-redirect-from': from, 'proxy-redirect-to': to });
      const own = (text: string): string => text.replace('HOST', host);
      const got = await headers(host, { Location: own(location), Refresh: `5; url=${own(location)}` });
      expect(got.location).toBe(own(expected));
      // A path of the header Refresh stays a path.
      expect(got.refresh).toBe(`5; url=${to === '/app/' ? '/app/x' : own(expected)}`);
    });

    test('a location that is not changed stays a path', async () => {
      const host = await serve({ 'proxy-redirect-from': 'http://in.io/', 'proxy-redirect-to': '/' });
      expect((await headers(host, { Location: '/x' })).location).toBe('/x');
      const session = http2Session(it.world.ports.https, host);
      sent = { location: 'http://in.io/x' };
      expect((await askHttp2(session, `${host}/`)).headers.location).toBe(`https://${host}/x`);
      session.close();
    });

    test.each([
      [
        'proxy-cookie-domain',
        'in.io out.io',
        'a=in.io; Domain=in.io; Path=/',
        'a=in.io; Domain=out.io; Path=/',
      ],
      ['proxy-cookie-domain', '.in.io .out.io', 'a=1;domain=.IN.io', 'a=1;domain=out.io'],
      ['proxy-cookie-domain', 'in.io out.io', 'a=1; Domain=x.in.io', 'a=1; Domain=x.in.io'],
      ['proxy-cookie-domain', '~(\\w+)\\.in\\.io$ $1.$host', 'a=1; Domain=x.in.io', 'a=1; Domain=x.HOST'],
      ['proxy-cookie-domain', 'off', 'a=1; Domain=in.io', 'a=1; Domain=in.io'],
      ['proxy-cookie-path', '/app/ /', 'a=/app/; Path=/app/x; Secure', 'a=/app/; Path=/x; Secure'],
      ['proxy-cookie-path', '/app/ /', 'a=1; path = /app ;HttpOnly', 'a=1; path = /app ;HttpOnly'],
      ['proxy-cookie-path', '~*^/APP(/.*)?$ /other$1', 'a=1; PATH=/app/y', 'a=1; PATH=/other/y'],
    ])('with %s %s, the cookie %s becomes %s', async (name, rule, cookie, expected) => {
      const host = await serve({ [name]: rule });
      const got = await headers(host, { 'Set-Cookie': [cookie, 'b=2'] });
      expect(got['set-cookie']).toEqual([expected.replace('HOST', host), 'b=2']);
    });

    test('a request cannot add an attribute to a cookie', async () => {
      const host = await serve({ 'proxy-cookie-path': '/ $uri' });
      sent = { 'Set-Cookie': 'a=1; Path=/' };
      const cookie = async (path: string) => (await it.world.ask(`${host}${path}`)).headers['set-cookie'];
      expect(await cookie('/x')).toEqual(['a=1; Path=/x']);
      expect(await cookie('/x;Domain=io')).toEqual(['a=1; Path=/']);
    });

    test('cookies of affinity are added unchanged', async () => {
      const host = await serve({ 'proxy-cookie-path': '/ /x', affinity: 'cookie' });
      const got = await headers(host, { 'Set-Cookie': 'a=1; Path=/' });
      expect(got['set-cookie']).toEqual([
        'a=1; Path=/x',
        expect.stringMatching(/^INGRESSCOOKIE=[0-9a-f]+; Path=\/; HttpOnly$/),
      ]);
    });
  });
}
