import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { service } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Which requests are logged, and whether the Service itself gets them. */
export function logging(make: MakeDriver): void {
  describe('access log and addresses of Services', () => {
    let it: PolicyCluster;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
    });
    afterAll(() => it.stop());

    test('requests for paths without a log are not in it', async () => {
      const off = { 'enable-access-log': 'false' };
      await it.serve({ 'log.io/quiet': 'web:80' }, off);
      await it.serve({ 'log.io/denied': 'web:80' }, { ...off, 'denylist-source-range': '127.0.0.1' });
      await it.serve({ 'log.io/on': 'web:80' }, { 'enable-access-log': 'true' });
      await it.serve({ 'log.io/invalid': 'web:80' }, { 'enable-access-log': 'no' });
      await it.serve({ 'log.io/': 'web:80' });
      const paths = ['/quiet', '/quiet/a', '/denied', '/on', '/invalid', '/other'];
      for (const path of paths) await it.world.ask(`log.io${path}`);
      const logged = async () => (await it.world.accessLog()).map(({ target }) => target);
      await expect.poll(logged).toContain('/other');
      expect(await logged()).toEqual(['/on', '/invalid', '/other']);
      // Each worker of nginx publishes its counts at intervals.
      await expect
        .poll(() => it.world.driver.metrics())
        .toMatch(/host="log\.io".*code="403"|code="403".*host="log\.io"/);
    });

    test('the address of a Service gets requests in place of its endpoints', async () => {
      const [cluster, pod] = [await it.backend('cluster'), await it.backend('pod')];
      const made = service('direct', [`http:${cluster.port}`]);
      it.cluster.put('Service', { ...made, spec: { ...made.spec, clusterIP: '127.0.0.1' } });
      it.cluster.put('Service', service('headless', [`http:${cluster.port}`]));
      for (const name of ['direct', 'headless']) it.endpoint(name, pod);
      const own = { 'service-upstream': 'true' };
      await it.serve({ 'su.io/address': 'direct:http', 'su.io/headless': 'headless:http' }, own);
      await it.serve({ 'su.io/': 'direct:http' }, { 'service-upstream': 'false' });
      for (const [path, expected] of [
        ['/address', 'cluster'],
        ['/headless', 'pod'],
        ['/', 'pod'],
      ])
        expect(await it.world.respondingBackend(`su.io${path}`)).toBe(expected);
    });
  });
}
