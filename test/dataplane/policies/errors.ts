import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Another backend for errors. */
export function errors(make: MakeDriver): void {
  describe('a backend for errors', () => {
    let it: PolicyCluster;
    let failing: Awaited<ReturnType<PolicyCluster['backend']>>;

    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      await it.cluster.service('pages');
      failing = await it.backend('failing', {
        handle: (request, response) => {
          const status = Number(/\d+/.exec(request.url ?? '')?.[0] ?? 200);
          request.resume().once('end', () => response.writeHead(status, { 'x-own': 'yes' }).end('own'));
        },
      });
      it.cluster.put('Service', { ...(await serviceOf('failing')) });
      it.endpoint('failing', failing);
      it.cluster.put('Service', { ...(await serviceOf('empty')) });
      const own = { 'custom-http-errors': '404, 503,500', 'default-backend': 'pages' };
      await it.serve({ 'e.io/': 'failing:80', 'e.io/empty': 'empty:80' }, own);
      await it.serve({ 'off.io/': 'failing:80' }, { ...own, 'disable-proxy-intercept-errors': 'true' });
      await it.serve({ 'none.io/': 'failing:80' }, { 'custom-http-errors': '404' });
      await it.serve({ 'gone.io/': 'failing:80' }, { ...own, 'default-backend': 'empty' });
    });
    afterAll(() => it.stop());

    const serviceOf = async (name: string) => {
      const { service } = await import('../../../packages/tidegate/src/ingress/testing/objects.ts');
      return service(name);
    };

    test('answers in place of a backend', async () => {
      const { status, headers, echo } = await it.world.ask('e.io/404?x=1', {
        headers: { accept: 'text/html', 'x-code': '1' },
      });
      expect({ status, own: headers['x-own'], backend: echo.backend }).toEqual({
        status: 200,
        backend: 'pages',
      });
      expect(echo).toMatchObject({
        method: 'GET',
        url: '/',
        headers: {
          ...{ 'x-code': '404', 'x-format': 'text/html', 'x-original-uri': '/404?x=1' },
          ...{ 'x-namespace': 'shop', 'x-ingress-name': 'i0' },
          ...{ 'x-service-name': 'failing', 'x-service-port': '80', host: 'e.io' },
        },
      });
    });

    test('gets no body, and keeps the connection of the client usable', async () => {
      for (const method of ['POST', 'PUT']) {
        const { echo } = await it.world.ask('e.io/500', { method, body: 'x'.repeat(1000) });
        expect(echo).toMatchObject({
          backend: 'pages',
          method: 'GET',
          bodyBytes: 0,
          headers: { 'x-code': '500' },
        });
      }
      expect((await it.world.ask('e.io/404', { method: 'HEAD' })).status).toBe(200);
    });

    test('does not get other statuses', async () => {
      for (const status of [200, 403, 410, 502]) {
        const answer = await it.world.ask(`e.io/${status}`);
        expect({ status: answer.status, body: answer.body }).toEqual({ status, body: 'own' });
      }
      const before = failing.requests;
      await it.world.ask('e.io/404');
      expect(failing.requests).toBe(before + 1);
    });

    test('gets requests as they are if a backend has no endpoints', async () => {
      const { echo } = await it.world.ask('e.io/empty/x', { method: 'POST', body: 'abc' });
      expect(echo).toMatchObject({ backend: 'pages', method: 'POST', url: '/empty/x', bodyBytes: 3 });
      expect(echo.headers).toMatchObject({ 'x-code': '503', 'x-service-name': 'empty' });
    });

    test('is not used without endpoints, without default-backend, or if it is disabled', async () => {
      for (const host of ['off.io', 'none.io', 'gone.io']) {
        const { status } = await it.world.ask(`${host}/404`);
        expect({ host, status }).toEqual({ host, status: 404 });
      }
    });
  });
}
