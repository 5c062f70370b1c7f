import { createHash } from 'node:crypto';
import type { Secret } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askHttp2, askRaw, http2Session, statusOf } from '../support/client.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

const PASSWORD = 'opensesame é';
/** A guess takes a tenth of this on an idle machine. */
const STARVED_MS = 1000;
/** The same password in each kind, made with openssl and bcrypt. */
const HASHES: Readonly<Record<string, string>> = {
  apr1: '$apr1$abcdefgh$0hnAgUq2oGudh/DryZo761',
  md5: '$1$abc$BDXlJKUsJwyAIM4VPNdSa.',
  sha256: '$5$saltsalt$G1cixZLji0GZcXclPe1sCxnuvL74hc53X4HolXDPIN9',
  sha512:
    '$6$saltsalt$yn/SgAfajbqbIngWhtrD0Bvou7xq3xfp5HQDjmRL2KaRr707rKgApPS1ev0eHVZb9YHWzC5yNCsBN2qbwv3Id1',
  bcrypt: '$2b$04$UsYVBqXnNJgmtc2/iCG0EeIyuwTpX/.1mzszzSa7dVaU2ODFQuo5S',
  sha1: '{SHA}dIdTy8nGNNtl+hZJ2NYzvOB7CZ8=',
  ssha: '{SSHA}3WzAF0X9OMH1gASFFXIbRND0qe5zYWx0c2FsdA==',
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

export const users = (name: string, data: Record<string, string>, namespace = 'shop'): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  type: 'Opaque',
  data: Object.fromEntries(Object.entries(data).map(([key, value]) => [key, base64(value)])),
});

const basic = (name: string, password: string) => ({
  headers: { Authorization: `Basic ${base64(`${name}:${password}`)}` },
});

const sha1 = (password: Buffer): string => `{SHA}${createHash('sha1').update(password).digest('base64')}`;

const FILE = Object.entries({
  ...HASHES,
  latin1: sha1(Buffer.from('caf\xe9', 'latin1')),
  replacement: sha1(Buffer.from('caf\ufffd')),
})
  .map(([name, hash]) => `${name}:${hash}\n`)
  .join('');

/** Basic authentication, from the Secret to the answers of a data plane. Tests connect from 127.0.0.1. */
export function basicAuthentication(make: MakeDriver): void {
  describe('users and passwords', () => {
    let it: PolicyCluster;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      it.cluster.put('Secret', users('users', { auth: FILE }));
      const protect = { 'auth-type': 'basic', 'auth-secret': 'users', 'auth-realm': 'the shop' };
      await it.serve({ 'pw.io/admin': 'web:80' }, protect);
      await it.serve({ 'pw.io/': 'other:80' });
    });
    afterAll(() => it.stop());

    test.each(Object.keys(HASHES))('a password with a hash of the kind %s is accepted', async (kind) => {
      for (let repeat = 0; repeat < 2; repeat++)
        expect(await it.world.respondingBackend('pw.io/admin', basic(kind, PASSWORD))).toBe('web');
      for (const wrong of ['', 'opensesame', `${PASSWORD} `])
        expect(await it.world.respondingBackend('pw.io/admin', basic(kind, wrong))).toBe(401);
    });

    test('a client without credentials is asked for them', async () => {
      const { status, headers, body } = await it.world.ask('pw.io/admin');
      expect(status).toBe(401);
      expect(headers['www-authenticate']).toBe('Basic realm="the shop"');
      expect(body).toBe('unauthorized\n');
    });

    test.each([
      'Basic',
      'Basic !!!',
      `Bearer ${base64(`apr1:${PASSWORD}`)}`,
      `Basic ${base64('apr1')}`,
      `Basic ${base64(`:${PASSWORD}`)}`,
      `Basic ${base64(`unknown:${PASSWORD}`)}`,
      `Basic ${base64(`__proto__:${PASSWORD}`)}`,
      `Basic ${base64(`apr1:${PASSWORD}\0x`)}`,
      `Basic ${base64(`apr1:${HASHES.apr1}`)}`,
      `Basic ${base64(`apr1:${'x'.repeat(3000)}`)}`,
      `Basic ${base64(`apr1:${PASSWORD}`).replace(/=*$/, '=====')}`,
      `Basic ${Buffer.from(`latin1:caf\xe9`, 'latin1').toString('base64')}`,
      `Basic ${Buffer.from(`replacement:caf\xff`, 'latin1').toString('base64')}`,
    ])('%s is not accepted', async (Authorization) => {
      expect(await it.world.respondingBackend('pw.io/admin', { headers: { Authorization } })).toBe(401);
    });

    test('two headers with credentials are refused', async () => {
      const [right, wrong] = [basic('sha1', PASSWORD), basic('sha1', 'x')].map(
        ({ headers }) => headers.Authorization,
      );
      for (const both of [
        [right, wrong],
        [wrong, right],
        [right, right],
      ]) {
        const lines = both.map((value) => `Authorization: ${value}\r\n`).join('');
        const text = `GET /admin HTTP/1.1\r\nHost: pw.io\r\nConnection: close\r\n${lines}\r\n`;
        expect(statusOf(await askRaw(it.world.ports.http, text))).toBe(400);
      }
    });

    test('a header that belongs to the connection does not count', async () => {
      const { Authorization } = basic('sha1', PASSWORD).headers;
      const text = `GET /admin HTTP/1.1\r\nHost: pw.io\r\nConnection: close, authorization\r\nAuthorization: ${Authorization}\r\n\r\n`;
      expect(statusOf(await askRaw(it.world.ports.http, text))).toBe(401);
    });

    test('guesses at the users of one tenant leave time for others, and tell nothing about names', async () => {
      // 99,999 rounds of SHA-512.
      const slow = `$6$rounds=99999$saltsalt$${'a'.repeat(86)}`;
      it.cluster.put('Secret', users('slow', { auth: `ann:${slow}` }, 'mallory'));
      it.cluster.put('Secret', users('fast', { auth: `ann:${HASHES.sha1}` }));
      const by = (name: string) => ({ 'auth-type': 'basic', 'auth-secret': name });
      await it.serve({ 'slow.io/': 'web:80' }, by('slow'), { namespace: 'mallory' });
      await it.serve({ 'fast.io/': 'web:80' }, by('fast'));
      const guess = (name: string) => it.world.respondingBackend('slow.io/', basic(name, `${guessed++}`));
      let guessed = 0;
      const isBusy = async (name: string): Promise<boolean> => (await guess(name)) === 503;
      // Each worker has a budget of its own.
      let busy = 0;
      const started = performance.now();
      // A machine can be so busy that all guesses together need less than their share of the time. Then none is refused.
      const isStarved = (): boolean => guessed > 40 && (performance.now() - started) / guessed > STARVED_MS;
      while (busy < 10 && !isStarved())
        busy = (await isBusy(guessed % 2 === 0 ? 'ann' : 'unknown')) ? busy + 1 : 0;
      expect(await it.world.respondingBackend('fast.io/', basic('ann', PASSWORD))).toBe('web');
    });

    test('the backend does not get the password', async () => {
      const { echo } = await it.world.ask('pw.io/admin', basic('sha1', PASSWORD));
      expect(echo.headers.authorization).toBe(undefined);
      const open = await it.world.ask('pw.io/open', basic('sha1', PASSWORD));
      expect(open.echo.headers.authorization).toMatch(/^Basic /);
    });

    test('it works over HTTPS and HTTP/2', async () => {
      expect((await it.world.askSecurely('pw.io/admin')).status).toBe(401);
      expect((await it.world.askSecurely('pw.io/admin', basic('sha1', PASSWORD))).echo.backend).toBe('web');
      const session = http2Session(it.world.ports.https, 'pw.io');
      expect((await askHttp2(session, 'pw.io/admin')).status).toBe(401);
      const { echo } = await askHttp2(session, 'pw.io/admin', basic('sha1', PASSWORD));
      expect(echo.backend).toBe('web');
      session.destroy();
    });

    test('no other spelling of a protected path reaches another route', async () => {
      for (const path of ['//admin', '/%61dmin', '/admin%2fx', '/admin/'])
        expect({ path, answer: await it.world.respondingBackend(`pw.io${path}`) }).toEqual({
          path,
          answer: 401,
        });
      for (const path of ['/ADMIN', '/Admin/x', '/admin.', '/admin%20', '/admin::$DATA'])
        expect({ path, answer: await it.world.respondingBackend(`pw.io${path}`) }).toEqual({
          path,
          answer: 401,
        });
      expect(await it.world.respondingBackend('pw.io/ADMIN', basic('sha1', PASSWORD))).toBe('web');
      for (const path of ['/admin;x', '/\\admin', '/x/..%20/admin'])
        expect(await it.world.respondingBackend(`pw.io${path}`)).toBe(400);
      expect(await it.world.respondingBackend('pw.io/x')).toBe('other');
    });

    test('a literal path is protected on a host with regular expressions', async () => {
      await it.serve(
        { 'rx.io/files(1)': 'web:80', 'rx.io/th%C3%A9': 'web:80' },
        { 'auth-type': 'basic', 'auth-secret': 'users' },
      );
      await it.serve({ 'rx.io/': 'other:80' });
      await it.serve({ 'rx.io/new(/|$)(.*)': 'other:80' }, { 'rewrite-target': '/$2' });
      for (const path of ['/files(1)', '//files(1)', '/th%C3%A9', '//th%c3%a9'])
        expect({ path, answer: await it.world.respondingBackend(`rx.io${path}`) }).toEqual({
          path,
          answer: 401,
        });
    });

    test('keys of a Secret can be users', async () => {
      it.cluster.put('Secret', users('map', { ann: HASHES.sha1!, bob: 'secret' }));
      const protect = { 'auth-type': 'basic', 'auth-secret': 'shop/map', 'auth-secret-type': 'auth-map' };
      await it.serve({ 'map.io/': 'web:80' }, protect);
      expect(await it.world.respondingBackend('map.io/', basic('ann', PASSWORD))).toBe('web');
      expect(await it.world.respondingBackend('map.io/', basic('bob', 'secret'))).toBe(401);
      expect((await it.world.ask('map.io/')).headers['www-authenticate']).toBe('Basic realm=""');
    });

    test('a missing or invalid Secret closes the paths, and a change of it applies at once', async () => {
      const protect = { 'auth-type': 'basic', 'auth-secret': 'late' };
      await it.serve({ 'late.io/a': 'web:80' }, protect);
      await it.serve({ 'late.io/': 'other:80' });
      const answers = async () => [
        await it.world.respondingBackend('late.io/a', basic('ann', PASSWORD)),
        await it.world.respondingBackend('late.io/a'),
        await it.world.respondingBackend('late.io/'),
      ];
      const put = async (data: Record<string, string>) => {
        it.cluster.put('Secret', users('late', data));
        await it.cluster.serve();
      };
      expect(await answers()).toEqual([503, 503, 'other']);
      await put({ auth: `ann:${HASHES.sha1}` });
      expect(await answers()).toEqual(['web', 401, 'other']);
      await put({ auth: `bob:${HASHES.sha1}` });
      expect(await answers()).toEqual([401, 401, 'other']);
      await put({ auth: 'ann:plain' });
      expect(await answers()).toEqual([503, 503, 'other']);
      await put({ wrong: `ann:${HASHES.sha1}` });
      expect(await answers()).toEqual([503, 503, 'other']);
      await put({ auth: `ann:${HASHES.sha1}` });
      expect(await answers()).toEqual(['web', 401, 'other']);
      it.cluster.remove('Secret', 'shop/late');
      await it.cluster.serve();
      expect(await answers()).toEqual([503, 503, 'other']);
    });

    test.each([
      [{ 'auth-type': 'digest', 'auth-secret': 'users' }],
      [{ 'auth-type': 'basic' }],
      [{ 'auth-secret': 'users' }],
      [{ 'auth-type': 'basic', 'auth-secret': 'evil/users' }],
      [{ 'auth-type': 'basic', 'auth-secret': 'users', 'auth-realm': 'a"b' }],
      [{ 'auth-type': 'basic', 'auth-secret': 'users', 'auth-secret-type': 'x' }],
      [{ 'auth-type': 'basic', 'auth-secret': 'users', satisfy: 'one' }],
    ])('%j closes the host', async (annotations: Record<string, string>) => {
      const host = `bad${Buffer.from(JSON.stringify(annotations)).toString('hex').slice(-40)}.io`;
      await it.serve({ [`${host}/a`]: 'web:80' }, annotations);
      await it.serve({ [`${host}/`]: 'other:80' });
      for (const path of ['/a', '//a', '/'])
        expect(await it.world.respondingBackend(host + path, basic('sha1', PASSWORD))).toBe(503);
    });

    test('satisfy decides how lists and passwords combine', async () => {
      const protect = { 'auth-type': 'basic', 'auth-secret': 'users' };
      const cases = [
        ['all-in', { 'allowlist-source-range': '127.0.0.1', satisfy: 'all' }, [401, 'web']],
        ['all-out', { 'allowlist-source-range': '10.0.0.0/8' }, [403, 403]],
        ['any-in', { 'allowlist-source-range': '127.0.0.1', satisfy: 'any' }, ['web', 'web']],
        ['any-out', { 'allowlist-source-range': '10.0.0.0/8', satisfy: 'any' }, [401, 'web']],
        ['any-denied', { 'denylist-source-range': '127.0.0.1', satisfy: 'any' }, [401, 'web']],
        ['any-unlisted', { 'denylist-source-range': '10.0.0.0/8', satisfy: 'any' }, [401, 'web']],
        ['any-alone', { satisfy: 'any' }, [401, 'web']],
      ] as const;
      for (const [name, more, expected] of cases) {
        await it.serve({ [`${name}.io/`]: 'web:80' }, { ...protect, ...more });
        const answers = [
          await it.world.respondingBackend(`${name}.io/`),
          await it.world.respondingBackend(`${name}.io/`, basic('sha1', PASSWORD)),
        ];
        expect({ name, answers }).toEqual({ name, answers: expected });
      }
    });

    test('a password applies before a rewrite, and after a redirect', async () => {
      const protect = { 'auth-type': 'basic', 'auth-secret': 'users' };
      await it.serve({ 'two.io/old(/|$)(.*)': 'web:80' }, { ...protect, 'rewrite-target': '/new/$2' });
      expect(await it.world.respondingBackend('two.io/old/x')).toBe(401);
      const { echo } = await it.world.ask('two.io/old/x', basic('sha1', PASSWORD));
      expect(echo.url).toBe('/new/x');
      await it.serve({ 'three.io/': 'web:80' }, { ...protect, 'permanent-redirect': 'https://a.io' });
      expect(await it.redirect('three.io/')).toBe('301 https://a.io');
    });
  });
}
