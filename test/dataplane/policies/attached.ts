import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AttachedPolicy } from '../../../packages/tidegate/src/api/index.ts';
import { attachedPolicy, CLASS } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Tests connect from 127.0.0.1. */
export function attachedPolicies(make: MakeDriver): void {
  describe('RoutePolicies and ClusterRoutePolicies', () => {
    let it: PolicyCluster;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      await it.serve({ 'web.io/': 'web:80' }, {}, { name: 'web' });
      await it.serve(
        { 'tight.io/': 'web:80' },
        { 'whitelist-source-range': '127.0.0.0/8' },
        { name: 'tight' },
      );
    });
    afterAll(() => it.stop());

    const put = async (policy: AttachedPolicy): Promise<void> => {
      it.cluster.put(policy.kind as 'RoutePolicy' | 'ClusterRoutePolicy', policy);
      await it.cluster.serve();
    };
    const remove = async (kind: 'RoutePolicy' | 'ClusterRoutePolicy', key: string): Promise<void> => {
      it.cluster.remove(kind, key);
      await it.cluster.serve();
    };
    const ofClass = (spec: object) =>
      attachedPolicy({ name: 'all' }, { targetRefs: [{ kind: 'IngressClass', name: CLASS }], ...spec });
    const answers = () =>
      Promise.all(['web.io/', 'tight.io/'].map((where) => it.world.respondingBackend(where)));

    test('an access list of a class applies to all of its Ingresses, and ends with the policy', async () => {
      expect(await answers()).toEqual(['web', 'web']);
      await put(ofClass({ access: { allow: ['10.0.0.0/8'] } }));
      expect(await answers()).toEqual([403, 403]);
      await put(ofClass({ access: { allow: ['127.0.0.1', '10.0.0.0/8'] } }));
      expect(await answers()).toEqual(['web', 'web']);
      await put(ofClass({ access: { deny: ['127.0.0.1'] } }));
      expect(await answers()).toEqual([403, 403]);
      await remove('ClusterRoutePolicy', 'all');
      expect(await answers()).toEqual(['web', 'web']);
    });

    test('limits of a class and of an Ingress both apply', async () => {
      const burst = async (): Promise<number> => {
        const all = await Promise.all(
          Array.from({ length: 12 }, () => it.world.respondingBackend('web.io/')),
        );
        return all.filter((each) => each === 503).length;
      };
      await put(ofClass({ limits: { requestsPerMinute: 1, burstMultiplier: 1 } }));
      const own = { targetRefs: [{ kind: 'Ingress' as const, name: 'web' }] };
      await put(
        attachedPolicy({ namespace: 'shop', name: 'web' }, { ...own, limits: { requestsPerSecond: 1_000 } }),
      );
      expect(await burst()).toBeGreaterThanOrEqual(10);
      await remove('ClusterRoutePolicy', 'all');
      expect(await burst()).toBe(0);
      await remove('RoutePolicy', 'shop/web');
    });

    test('settings reach clients and backends', async () => {
      const settings = { cors: { allowOrigins: ['https://app.io'] }, backend: { host: 'inner.io' } };
      await put(
        attachedPolicy(
          { namespace: 'shop', name: 'all' },
          { targetRefs: [{ kind: 'Namespace' }], ...settings },
        ),
      );
      const answer = await it.world.ask('web.io/', { headers: { Origin: 'https://app.io' } });
      expect(answer.headers['access-control-allow-origin']).toBe('https://app.io');
      expect(answer.echo.headers.host).toBe('inner.io');
      await remove('RoutePolicy', 'shop/all');
    });

    test.each([
      ['a value that is not valid', { access: { allow: ['anything'] } }],
      ['a section of a newer version', { firewall: {} }],
      ['users that cannot be read', { basicAuth: { secretName: 'users' }, secretNamespace: 'platform' }],
    ])('a policy that protects, with %s, closes the routes', async (_, spec) => {
      await put(ofClass(spec));
      expect(await answers()).toEqual([503, 503]);
      await remove('ClusterRoutePolicy', 'all');
      expect(await answers()).toEqual(['web', 'web']);
    });
  });
}
