import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { ingress, secret } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { shownCertificate } from './support/client.ts';
import { Cluster } from './support/cluster.ts';
import type { MakeDriver } from './support/world.ts';

/**
 * The scenarios of the public ingress controller conformance suite, tested through compiler and data plane. `own` are headers
 * that the data plane adds to responses; the endpoints of these tests do not send them.
 */
export function conformance(make: MakeDriver, { own = ['server'] }: { own?: readonly string[] } = {}): void {
  describe('conformance', () => {
    let cluster: Cluster;

    beforeAll(async () => {
      cluster = await Cluster.start(make);
    });
    afterAll(() => cluster.stop());

    describe('default backend', () => {
      beforeAll(async () => {
        await cluster.service('default');
        cluster.put('Ingress', ingress({ name: 'default', defaultBackend: 'default:80' }));
        await cluster.serve();
      });
      afterAll(async () => {
        await cluster.remove('Ingress', 'shop/default').serve();
      });

      test.each([
        ['GET', ''],
        ['GET', 'my-host'],
        ['POST', 'my-host'],
        ['PUT', 'my-host'],
        ['DELETE', 'my-host'],
        ['PATCH', 'my-host'],
      ])('forwards %s with the host %j', async (method, host) => {
        const where = `${host || '127.0.0.1'}/sub/path?query=1`;
        const { status, headers, echo } = await cluster.world.ask(where, {
          method,
          headers: { 'User-Agent': 'conformance' },
        });
        expect(status).toBe(200);
        expect(Object.keys(headers)).toEqual(
          expect.arrayContaining(['content-length', 'content-type', 'date', ...own]),
        );
        expect(echo).toMatchObject({ backend: 'default', method, url: '/sub/path?query=1', version: '1.1' });
        expect(echo.headers['user-agent']).toBe('conformance');
      });
    });

    describe('host rules', () => {
      const authority = new TestAuthority();

      beforeAll(async () => {
        await cluster.service('wildcard-foo-com');
        await cluster.service('foo-bar-com');
        cluster.put('Secret', secret('conformance-tls', authority.issue(['foo.bar.com'])));
        cluster.put(
          'Ingress',
          ingress({
            name: 'host-rules',
            rules: { '*.foo.com/': 'wildcard-foo-com:80', 'foo.bar.com/': 'foo-bar-com:http' },
            tls: [{ hosts: ['foo.bar.com'], secretName: 'conformance-tls' }],
          }),
        );
        await cluster.serve();
      });

      test.each([
        ['foo.bar.com/', 'foo-bar-com'],
        ['subdomain.bar.com/', 404],
        ['bar.foo.com/', 'wildcard-foo-com'],
        ['baz.bar.foo.com/', 404],
        ['foo.com/', 404],
      ])('sends %s to %s', async (where, expected) =>
        expect(await cluster.world.respondingBackend(where)).toBe(expected),
      );

      test('uses the certificate of the host for TLS', async () => {
        const { https } = cluster.world.ports;
        expect((await shownCertificate(https, 'foo.bar.com')).subjectaltname).toBe('DNS:foo.bar.com');
        expect((await cluster.world.askSecurely('foo.bar.com/')).echo.backend).toBe('foo-bar-com');
      });
    });

    describe('path rules', () => {
      beforeAll(async () => {
        const names = ['exact', 'prefix', 'aaa-bbb', 'aaa', 'aaa-slash', 'mixed-exact', 'mixed-prefix'];
        for (const name of names) await cluster.service(name);
        cluster.put(
          'Ingress',
          ingress({
            name: 'path-rules',
            rules: {
              '=exact.rules/foo': 'exact:80',
              'prefix.rules/foo': 'prefix:80',
              'prefix.rules/aaa/bbb': 'aaa-bbb:80',
              'prefix.rules/aaa': 'aaa:80',
              '=mixed.rules/foo': 'mixed-exact:80',
              'mixed.rules/foo': 'mixed-prefix:80',
              'trailing.rules/aaa/bbb/': 'aaa-slash:80',
              '=trailing.rules/foo/': 'exact:80',
            },
          }),
        );
        await cluster.serve();
      });

      test.each([
        ['exact.rules/foo', 'exact'],
        ['exact.rules/foo/', 404],
        ['exact.rules/FOO', 404],
        ['exact.rules/bar', 404],
        ['prefix.rules/foo', 'prefix'],
        ['prefix.rules/foo/', 'prefix'],
        ['prefix.rules/FOO', 404],
        ['prefix.rules/aaa/bbb', 'aaa-bbb'],
        ['prefix.rules/aaa/bbb/ccc', 'aaa-bbb'],
        ['prefix.rules/aaa/ccc', 'aaa'],
        ['prefix.rules/aaaccc', 404],
        ['mixed.rules/foo', 'mixed-exact'],
        ['mixed.rules/foo/', 'mixed-prefix'],
        ['trailing.rules/aaa/bbb/', 'aaa-slash'],
        ['trailing.rules/aaa/bbb', 'aaa-slash'],
        ['trailing.rules/foo/', 'exact'],
        ['trailing.rules/foo', 404],
      ])('sends %s to %s', async (where, expected) =>
        expect(await cluster.world.respondingBackend(where)).toBe(expected),
      );
    });

    test('ignores an Ingress of another class', async () => {
      await cluster.service('classless');
      const other = { className: 'some-invalid-class-name', rules: { 'class.rules/': 'classless:80' } };
      cluster.put('Ingress', ingress({ name: 'other-class', ...other }));
      expect((await cluster.serve()).outcomes).toEqual([]);
      expect(await cluster.world.respondingBackend('class.rules/')).toBe(404);
    });

    test('spreads 100 requests over all 10 pods', async () => {
      await cluster.service('balanced', { pods: 10 });
      cluster.put('Ingress', ingress({ name: 'balanced', rules: { 'balance.rules/': 'balanced:80' } }));
      await cluster.serve();
      const names = new Set<string | number>();
      for (let i = 0; i < 100; i++) names.add(await cluster.world.respondingBackend('balance.rules/'));
      expect([...names].sort()).toEqual(Array.from({ length: 10 }, (_, i) => `balanced-${i}`));
    });
  });
}
