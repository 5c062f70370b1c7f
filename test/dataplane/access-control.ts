import type { Ingress } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type IngressFields, ingress } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { askHttp2, http2Session } from './support/client.ts';
import { Cluster } from './support/cluster.ts';
import type { MakeDriver } from './support/world.ts';

const AUTH = { 'nginx.ingress.kubernetes.io/auth-snippet': 'http://a' };

/** Spellings of `/admin` that some backend takes for it, and paths that no rule has. */
const SPELLINGS = [
  ...[
    '/admin',
    '/admin/',
    '/admin/x?y',
    '/Admin',
    '//admin',
    '/admin;x',
    '/%61dmin',
    '/admin%2f',
    '/x//admin',
  ],
  ...['/', '/other'],
];

/** Annotations of ingress-nginx that control access: what Tidegate cannot protect, it does not serve. */
export function accessControl(make: MakeDriver): void {
  describe('access control that is not supported', () => {
    let cluster: Cluster;

    beforeAll(async () => {
      cluster = await Cluster.start(make);
      await cluster.service('web');
    });
    afterAll(() => cluster.stop());

    const put = (fields: IngressFields) => cluster.put('Ingress', ingress(fields));
    /** No spelling of the path reaches a backend. */
    const expectClosed = async (host: string): Promise<void> => {
      for (const path of SPELLINGS)
        expect({ path, answer: await cluster.world.respondingBackend(`${host}${path}`) }).toEqual({
          path,
          answer: 503,
        });
    };

    test('answers with 503 for the paths of an Ingress with an unsupported protocol, and for no others', async () => {
      const { world } = cluster;
      const fields = { name: 'encrypted', rules: { 'tls.io/secret': 'web:80' } };
      put({ ...fields, annotations: { 'nginx.ingress.kubernetes.io/backend-protocol': 'FCGI' } });
      put({ name: 'open', rules: { 'tls.io/': 'web:80' } });
      await cluster.serve();
      expect(await world.respondingBackend('tls.io/secret')).toBe(503);
      expect(await world.respondingBackend('tls.io/other')).toBe('web');
      put(fields);
      await cluster.serve();
      expect(await world.respondingBackend('tls.io/secret')).toBe('web');
    });

    test.each(['nginx.ingress.kubernetes.io/auth-snippet', 'example.com/whitelist-source-range'])(
      'answers with 503 for the whole host while an Ingress has %s',
      async (annotation) => {
        const { world } = cluster;
        const fields = { name: 'private', rules: { 'door.io/admin': 'web:80' } };
        put({ ...fields, annotations: { [annotation]: 'http://a' } });
        put({ name: 'public', rules: { 'door.io/': 'web:80' } });
        await cluster.serve();
        await expectClosed('door.io');
        expect((await world.askSecurely('door.io/admin')).status).toBe(503);
        const session = http2Session(world.ports.https, 'door.io');
        expect((await askHttp2(session, 'door.io//admin')).status).toBe(503);
        session.destroy();
        put(fields);
        await cluster.serve();
        for (const path of ['/admin', '//admin'])
          expect(await world.respondingBackend(`door.io${path}`)).toBe('web');
      },
    );

    test('no rule without a host takes over, and no wildcard', async () => {
      put({ name: 'closed', annotations: AUTH, rules: { 'in.hall.io/admin': 'web:80' } });
      put({ name: 'wild', rules: { '*.hall.io/': 'web:80' } });
      put({ name: 'all', rules: { '/': 'web:80' } });
      await cluster.serve();
      await expectClosed('in.hall.io');
      expect(await cluster.world.respondingBackend('by.hall.io/admin')).toBe('web');
      expect(await cluster.world.respondingBackend('free.io/admin')).toBe('web');
      cluster.remove('Ingress', 'shop/all');
    });

    test('a protected path that is not valid closes its host too', async () => {
      put({ name: 'odd', annotations: AUTH, rules: { 'odd.io/../admin': 'web:80' } });
      put({ name: 'even', rules: { 'odd.io/': 'web:80' } });
      await cluster.serve();
      await expectClosed('odd.io');
    });

    test('a path that is a regular expression closes its host, or is not served', async () => {
      const regex = { 'nginx.ingress.kubernetes.io/use-regex': 'true' };
      const path = '/(admin|Admin)(/|$)(.*)';
      put({ name: 'regex', annotations: { ...AUTH, ...regex }, rules: { [`regex.io${path}`]: 'web:80' } });
      put({ name: 'beside', rules: { 'regex.io/': 'web:80' } });
      put({
        name: 'open',
        annotations: regex,
        rules: { [`plain.io${path}`]: 'web:80', 'plain.io/a': 'web:80' },
      });
      await cluster.serve();
      await expectClosed('regex.io');
      expect(await cluster.world.respondingBackend(`plain.io${path}`)).toBe(404);
      expect(await cluster.world.respondingBackend('plain.io/a')).toBe('web');
    });

    test('another namespace cannot close a host', async () => {
      put({ name: 'mine', age: 10, rules: { 'mine.io/': 'web:80' } });
      put({ name: 'evil', namespace: 'evil', annotations: AUTH, rules: { 'mine.io/x': 'web:80' } });
      const all: Ingress = ingress({
        name: 'all',
        namespace: 'evil',
        annotations: AUTH,
        rules: { '/x': 'web:80' },
      });
      cluster.put('Ingress', all);
      await cluster.serve();
      expect(await cluster.world.respondingBackend('mine.io/x')).toBe('web');
    });
  });
}
