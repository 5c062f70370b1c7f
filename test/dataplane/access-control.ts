import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ingress } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { askHttp2, http2Session } from './support/client.ts';
import { Cluster } from './support/cluster.ts';
import type { MakeDriver } from './support/world.ts';

/** Annotations of ingress-nginx that control access: what Tidegate cannot protect, it does not serve. */
export function accessControl(make: MakeDriver): void {
  describe('access control that is not supported', () => {
    let cluster: Cluster;

    beforeAll(async () => {
      cluster = await Cluster.start(make);
      await cluster.service('web');
    });
    afterAll(() => cluster.stop());

    test.each(['nginx.ingress.kubernetes.io/auth-url', 'example.com/whitelist-source-range'])(
      'answers with 503 while the Ingress has %s, and no other rule takes over',
      async (annotation) => {
        const { world } = cluster;
        const fields = { name: 'private', rules: { 'door.io/private': 'web:80' } };
        cluster.put('Ingress', ingress({ ...fields, annotations: { [annotation]: 'http://a' } }));
        cluster.put('Ingress', ingress({ name: 'public', rules: { 'door.io/': 'web:80' } }));
        await cluster.serve();
        expect(await world.respondingBackend('door.io/')).toBe('web');
        for (const path of ['', '/', '/x?y'])
          expect(await world.respondingBackend(`door.io/private${path}`)).toBe(503);
        expect((await world.askSecurely('door.io/private')).status).toBe(503);
        const session = http2Session(world.ports.https, 'door.io');
        expect((await askHttp2(session, 'door.io/private')).status).toBe(503);
        session.destroy();
        cluster.put('Ingress', ingress(fields));
        await cluster.serve();
        expect(await world.respondingBackend('door.io/private')).toBe('web');
      },
    );
  });
}
