import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { service } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { Backend } from '../support/backend.ts';
import type { Answer } from '../support/client.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Cookies that keep a client at an endpoint. */
export function affinity(make: MakeDriver): void {
  describe('affinity', () => {
    let it: PolicyCluster;
    let made = 0;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
    });
    afterAll(() => it.stop());

    /** A Service with three endpoints, and a host with affinity. */
    const serve = async (
      annotations: Record<string, string> = {},
    ): Promise<{ where: string; name: string; pods: Backend[] }> => {
      const name = `s${made++}`;
      it.cluster.put('Service', service(name, ['http:80']));
      const pods = [await it.backend('a'), await it.backend('b'), await it.backend('c')];
      for (const pod of pods) it.endpoint(name, pod);
      await it.serve({ [`${name}.io/app`]: `${name}:80` }, { affinity: 'cookie', ...annotations });
      return { where: `${name}.io/app`, name, pods };
    };
    const cookiesOf = ({ headers }: Answer): string[] => headers['set-cookie'] ?? [];
    const pairOf = (answer: Answer): string => `${cookiesOf(answer).at(-1)?.split(';')[0]}`;
    const ask = (where: string, cookie?: string) =>
      it.world.ask(where, cookie === undefined ? {} : { headers: { cookie: `x=y; ${cookie}` } });

    test('a client keeps its endpoint, and gets one cookie', async () => {
      const { where } = await serve();
      const first = await ask(where);
      expect(cookiesOf(first)).toEqual([
        expect.stringMatching(/^INGRESSCOOKIE=[0-9a-f]{32}; Path=\/app; HttpOnly$/),
      ]);
      for (let i = 0; i < 6; i++) {
        const next = await ask(where, pairOf(first));
        expect({ by: next.echo.backend, cookies: cookiesOf(next) }).toEqual({
          by: first.echo.backend,
          cookies: [],
        });
      }
    });

    test('a client keeps its endpoint when others come and go, and gets another one when it is gone', async () => {
      const { where, name, pods } = await serve();
      const first = await ask(where);
      const own = first.echo.backend;
      const [other] = pods.filter((pod) => pod.name !== own);
      it.endpoint(name, await it.backend('d'));
      it.cluster.remove('EndpointSlice', `shop/${name}-${other!.name}`);
      await it.cluster.serve();
      for (let i = 0; i < 4; i++) expect((await ask(where, pairOf(first))).echo.backend).toBe(own);
      it.cluster.remove('EndpointSlice', `shop/${name}-${own}`);
      await it.cluster.serve();
      const moved = await ask(where, pairOf(first));
      expect(pairOf(moved)).toMatch(/^INGRESSCOOKIE=/);
      expect((await ask(where, pairOf(moved))).echo.backend).toBe(moved.echo.backend);
    });

    test('a cookie with another value is replaced', async () => {
      const { where } = await serve();
      for (const value of ['', 'x', '$remote_addr', '"}{'])
        expect(pairOf(await ask(where, `INGRESSCOOKIE=${value}`))).toMatch(/^INGRESSCOOKIE=[0-9a-f]{32}$/);
    });

    test('the cookie has the attributes of the annotations', async () => {
      const { where } = await serve({
        'session-cookie-name': 'route',
        'session-cookie-path': '/app/x',
        'session-cookie-domain': 'example.com',
        'session-cookie-max-age': '60',
        'session-cookie-samesite': 'Lax',
        'session-cookie-secure': 'true',
        'affinity-mode': 'persistent',
      });
      expect(cookiesOf(await ask(where))).toEqual([
        expect.stringMatching(
          /^route=[0-9a-f]{32}; Path=\/app\/x; Max-Age=60; Domain=example.com; Secure; HttpOnly; SameSite=Lax$/,
        ),
      ]);
    });

    test('the cookie expires at a date', async () => {
      const { where } = await serve({ 'session-cookie-expires': '172800' });
      const [, date = ''] = /; Expires=([^;]+);/.exec(cookiesOf(await ask(where))[0] ?? '') ?? [];
      expect(new Date(date).toUTCString()).toBe(date);
      expect(Date.parse(date)).toBeGreaterThan(Date.now());
    });

    test('the cookie is secure over HTTPS', async () => {
      const { where } = await serve();
      expect(cookiesOf(await it.world.askSecurely(where))[0]).toContain('; Secure; HttpOnly');
      const { where: open } = await serve({ 'session-cookie-secure': 'false' });
      expect(cookiesOf(await it.world.askSecurely(open))[0]).not.toContain('Secure');
    });

    test.each([
      [
        'Mozilla/5.0 (iPhone; CPU iPhone OS 12_4 like Mac OS X) Version/12.1 Mobile/15E148 Safari/604.1',
        false,
      ],
      ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) Version/12.1 Safari/605.1.15', false],
      ['Mozilla/5.0 (X11; Linux x86_64) Chrome/66.0.3359.139 Safari/537.36', false],
      ['Mozilla/5.0 (X11; Linux x86_64) Chrome/120.0.0.0 Safari/537.36', true],
    ])('SameSite=None for %s: %s', async (agent, isThere) => {
      const { where } = await serve({
        'session-cookie-samesite': 'none',
        'session-cookie-conditional-samesite-none': 'true',
      });
      const answer = await it.world.ask(where, { headers: { 'User-Agent': agent } });
      expect(cookiesOf(answer)[0]?.includes('SameSite=None')).toBe(isThere);
    });

    test.each([
      ['false', false],
      ['true', true],
    ])('with change-on-failure %s, a failure changes the cookie: %s', async (value, changes) => {
      const { where, pods } = await serve({ 'session-cookie-change-on-failure': value });
      const first = await ask(where);
      await pods.find(({ name }) => name === first.echo.backend)!.stop();
      const next = await ask(where, pairOf(first));
      expect(next.status).toBe(200);
      expect(cookiesOf(next).length).toBe(changes ? 1 : 0);
    });

    test('cookies of the endpoint stay', async () => {
      const name = `s${made++}`;
      const handle = (_: unknown, response: { setHeader(n: string, v: string[]): { end(): void } }) =>
        response.setHeader('Set-Cookie', ['a=1', 'b=2']).end();
      it.cluster.put('Service', service(name, ['http:80']));
      it.endpoint(name, await it.backend('own', { handle }));
      await it.serve({ [`${name}.io/`]: `${name}:80` }, { affinity: 'cookie' });
      const cookies = cookiesOf(await ask(`${name}.io/`));
      expect(cookies).toEqual(['a=1', 'b=2', expect.stringMatching(/^INGRESSCOOKIE=/)]);
    });

    test.each([
      ['sticky', true],
      ['legacy', false],
    ])('with %s, a client keeps its canary: %s', async (behavior, keeps) => {
      const { where } = await serve({ 'affinity-canary-behavior': behavior });
      const canary = { canary: 'true', 'canary-by-header': 'x-canary', 'canary-weight': '0' };
      await it.serve({ [where]: 'other:80' }, canary);
      const first = await it.world.ask(where, { headers: { 'x-canary': 'always' } });
      expect(first.echo.backend).toBe('other');
      const next = await ask(where, pairOf(first));
      expect(next.echo.backend === 'other').toBe(keeps);
      // A client of the other backend stays there too.
      const main = await ask(where);
      const headers = { 'x-canary': 'always', cookie: pairOf(main) };
      expect((await it.world.ask(where, { headers })).echo.backend === 'other').toBe(!keeps);
    });

    test('a regular expression has the path /', async () => {
      await it.serve({ 'regex.io/v[12]': 'web:80' }, { affinity: 'cookie', 'use-regex': 'true' });
      expect(cookiesOf(await ask('regex.io/v1'))[0]).toContain('; Path=/; HttpOnly');
    });

    test.each([
      ['affinity', 'ip'],
      ['session-cookie-path', '/; Domain=evil.io'],
      ['session-cookie-domain', 'a.io; x'],
      ['session-cookie-name', 'a=b'],
      ['session-cookie-samesite', 'some'],
    ])('%s: %s is ignored', async (name, value) => {
      const host = `bad${made++}.io`;
      await it.serve({ [`${host}/`]: 'web:80' }, { affinity: 'cookie', [name]: value });
      const answer = await ask(`${host}/`);
      expect(answer.status).toBe(200);
      for (const cookie of cookiesOf(answer))
        expect(cookie).toMatch(/^INGRESSCOOKIE=[0-9a-f]{32}; Path=\/; HttpOnly$/);
    });
  });
}
