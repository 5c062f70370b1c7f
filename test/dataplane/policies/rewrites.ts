import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

export function rewrites(make: MakeDriver): void {
  describe('rewrites and regular expressions', () => {
    let it: PolicyCluster;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
    });
    afterAll(() => it.stop());

    test.each([
      ['/api(/|$)(.*)', '/$2', '/api/v1/x?a=b', '/v1/x?a=b'],
      ['/api(/|$)(.*)', '/$2', '/api', '/'],
      ['/api(/|$)(.*)', '/$2', '/API/v1', '/v1'],
      ['/api(/|$)(.*)', '/$2', '/apix', 404],
      ['/old', '/', '/old/a/b', '/'],
      ['/(v[0-9]+)/([^/]+)/?.*', '/$2/$1', '/v12/shop/x', '/shop/v12'],
      ['/x/(.*)', '/y?from=$1', '/x/a?b=c', '/y?from=a&b=c'],
      ['/x/(.*)', '/y/$1?', '/x/a?b=c', '/y/a'],
      ['/x/(.*)', '$1', '/x/a', '/a'],
      ['/e/(.*)', '/f/$1', '/e/a%20b%2Fc', '/f/a%20b%2Fc'],
      // The rewritten path must not have dot segments.
      ['/d(.*)', '/a/.$1', '/d./x', 400],
      ['/c/(.*)', '/e/$1', '/c/a%0Ab', 400],
      ['/c/(.*)', '/e/$1', '/c/a%7f', 400],
      ['/c/(.*)', '/e/$1', '/c/a%20b%80?%0A', '/e/a%20b%80?%0A'],
      ['/same', '/same', '/same/x', '/same/x'],
      ['/(a|b)\\1', '/x', '/aa', 404],
    ])('path %s and rewrite-target %s: %s becomes %s', async (path, target, asked, expected) => {
      const host = `w${Buffer.from(path + target + asked)
        .toString('hex')
        .slice(0, 60)}.io`;
      await it.serve({ [`${host}${path}`]: 'web:80' }, { 'rewrite-target': target });
      expect(await it.seen(`${host}${asked}`)).toBe(expected);
    });

    test('rewrites requests with bodies of known and unknown length', async () => {
      const limits = { 'rewrite-target': '/up/$1', 'proxy-body-size': '1m' };
      await it.serve({ 'body.io/put/(.*)': 'web:80' }, limits);
      const body = 'x'.repeat(10_000);
      const sent: Record<string, string>[] = [{}, { 'Transfer-Encoding': 'chunked' }];
      for (const headers of sent) {
        const { status, echo } = await it.world.ask('body.io/put/a', { method: 'POST', headers, body });
        expect({ status, url: echo.url, bytes: echo.bodyBytes }).toEqual({
          status: 200,
          url: '/up/a',
          bytes: body.length,
        });
      }
    });

    test('sends X-Forwarded-Prefix, which a client cannot set', async () => {
      await it.serve(
        { 'prefix.io/(app)/(.*)': 'web:80' },
        { 'rewrite-target': '/$2', 'x-forwarded-prefix': '/$1' },
      );
      await it.serve({ 'noprefix.io/': 'web:80' }, { 'x-forwarded-prefix': '/x' });
      const headers = { 'X-Forwarded-Prefix': '/evil' };
      const { echo } = await it.world.ask('prefix.io/app/x', { headers });
      expect(echo).toMatchObject({ url: '/x', headers: { 'x-forwarded-prefix': '/app', host: 'prefix.io' } });
      const without = await it.world.ask('noprefix.io/app/x', { headers });
      expect(without.echo.headers['x-forwarded-prefix']).toBe(undefined);
    });

    test('gives up if the regular expressions take too many steps', async () => {
      const rules = Array.from({ length: 20 }, (_, at) => [`steps.io/${'.*a'.repeat(65)}!${at}`, 'web:80']);
      await it.serve(Object.fromEntries([...rules, ['steps.io/(a*)b', 'other:80']]), { 'use-regex': 'true' });
      // A restricted path makes the router read each path three times.
      await it.serve({ 'steps.io/x': 'web:80' }, { 'allowlist-source-range': '127.0.0.1' });
      const long = 'a'.repeat(15_000);
      expect(await it.world.respondingBackend(`steps.io/${long}b`)).toBe(503);
      expect(await it.world.respondingBackend(`steps.io/;${long}//%41`)).toBe(503);
      expect(await it.world.respondingBackend('steps.io/aab')).toBe('other');
      // One simple expression can read the longest paths.
      await it.serve({ 'long.io/(a*)/(.*)': 'web:80' }, { 'rewrite-target': '/$2/$1' });
      expect(await it.seen(`long.io/${long}/x`)).toBe(`/x/${long}`);
    });

    test('use-regex makes regular expressions of all paths of the host', async () => {
      await it.serve({ 'all.io/v[12]/': 'web:80' }, { 'use-regex': 'true' });
      await it.serve({ 'all.io/plain': 'other:80', '=all.io/exact': 'other:80' });
      const answers = ['/v2/x', '/V1/', '/v3/', '/plain', '/PLAINx', '/exact', '/exactly', '/x/plain'].map(
        async (path) => [path, await it.world.respondingBackend(`all.io${path}`)],
      );
      expect(Object.fromEntries(await Promise.all(answers))).toEqual({
        '/v2/x': 'web',
        '/V1/': 'web',
        '/v3/': 404,
        '/plain': 'other',
        '/PLAINx': 'other',
        '/exact': 'other',
        '/exactly': 'other',
        '/x/plain': 404,
      });
    });

    test('the longer expression is tried first', async () => {
      await it.serve({ 'order.io/a.*': 'web:80', 'order.io/ab[cd].*': 'other:80' }, { 'use-regex': 'true' });
      expect(await it.world.respondingBackend('order.io/abc')).toBe('other');
      expect(await it.world.respondingBackend('order.io/abx')).toBe('web');
    });

    test('a rewrite of a protected path uses the path that was checked', async () => {
      const annotations = { 'rewrite-target': '/in/$1', 'whitelist-source-range': '127.0.0.1' };
      await it.serve({ 'guard.io/admin/(.*)': 'web:80' }, annotations);
      await it.serve({ 'guard.io/': 'other:80' });
      expect(await it.seen('guard.io/admin/a%20b')).toBe('/in/a%20b');
      expect(await it.seen('guard.io//admin/a%20b%3Fc')).toBe('/in/a%20b%3Fc');
      expect(await it.seen('guard.io/%61dmin/x%2Fy')).toBe('/in/x/y');
    });

    test('an expression takes linear time', async () => {
      await it.serve({ 'slow.io/(a+)+$': 'web:80' }, { 'use-regex': 'true' });
      expect(await it.world.respondingBackend(`slow.io/${'a'.repeat(5_000)}!`)).toBe(404);
      expect(await it.world.respondingBackend(`slow.io/${'a'.repeat(5_000)}`)).toBe('web');
    });
  });
}
