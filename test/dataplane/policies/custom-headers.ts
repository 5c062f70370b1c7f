import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  classWithHeaders,
  configMap,
  service,
} from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { Backend } from '../support/backend.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Headers in ConfigMaps, for clients and for servers that authenticate them. */
export function customHeaders(make: MakeDriver): void {
  describe('headers of a ConfigMap', () => {
    let it: PolicyCluster;
    let server: Backend;
    let asked: Record<string, string | string[] | undefined>[] = [];

    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      server = await it.backend('auth', {
        handle: ({ headers }, response) => {
          asked.push(headers);
          response.end();
        },
      });
      const own = await it.backend('own', {
        handle: (_, response) => void response.writeHead(200, { 'x-served-by': 'me', 'X-Own': '1' }).end(),
      });
      it.cluster.put('Service', service('own', ['http:80']));
      it.endpoint('own', own);
      it.cluster.names.set('auth.example.com', '127.0.0.1');
      it.cluster.put('IngressClass', classWithHeaders('X-Frame-Options,X-Served-By,Access-Control-Max-Age'));
    });
    beforeEach(() => {
      asked = [];
    });
    afterAll(() => it.stop());

    const put = async (name: string, data: Record<string, string>): Promise<void> => {
      it.cluster.put('ConfigMap', configMap(name, data));
      await it.cluster.serve();
    };

    test('are in responses of endpoints and of the router, and replace those of endpoints', async () => {
      await put('both', { 'X-Frame-Options': 'DENY', 'X-Served-By': 'the edge; "v=1"' });
      await it.serve({ 'ch1.io/': 'own:80' }, { 'custom-headers': 'both' });
      const expected = { 'x-frame-options': 'DENY', 'x-served-by': 'the edge; "v=1"' };
      const served = await it.world.ask('ch1.io/');
      expect(served).toMatchObject({ status: 200, headers: { ...expected, 'x-own': '1' } });
      await it.serve(
        { 'ch2.io/': 'web:80' },
        { 'custom-headers': 'both', 'denylist-source-range': '127.0.0.1' },
      );
      expect(await it.world.ask('ch2.io/')).toMatchObject({ status: 403, headers: expected });
      expect((await it.world.ask('unknown-ch.io/')).headers).not.toHaveProperty('x-served-by');
    });

    test('change with the ConfigMap, and without it the status is 503', async () => {
      await it.serve({ 'ch3.io/': 'web:80' }, { 'custom-headers': 'late' });
      expect((await it.world.ask('ch3.io/')).status).toBe(503);
      await put('late', { 'X-Served-By': 'one' });
      expect((await it.world.ask('ch3.io/')).headers).toMatchObject({ 'x-served-by': 'one' });
      await put('late', { 'X-Served-By': 'two' });
      expect((await it.world.ask('ch3.io/')).headers).toMatchObject({ 'x-served-by': 'two' });
      await put('late', { 'X-Served-By': 'two', 'X-Other': 'not allowed' });
      expect((await it.world.ask('ch3.io/')).status).toBe(503);
      await put('late', { 'X-Served-By': 'a\r\nX-Other: b' });
      expect((await it.world.ask('ch3.io/')).status).toBe(503);
      it.cluster.remove('ConfigMap', 'shop/late');
      await it.cluster.serve();
      expect((await it.world.ask('ch3.io/')).status).toBe(503);
    });

    test('give way to headers for browsers of other sites', async () => {
      await put('age', { 'Access-Control-Max-Age': '1', 'X-Served-By': 'x' });
      await it.serve({ 'ch4.io/': 'web:80' }, { 'custom-headers': 'age', 'enable-cors': 'true' });
      const { headers } = await it.world.ask('ch4.io/', { headers: { Origin: 'https://a.io' } });
      expect(headers).toMatchObject({ 'access-control-max-age': '1728000', 'x-served-by': 'x' });
    });

    test('reach the server that authenticates clients, in place of those of the client', async () => {
      await put('auth', { 'X-Tenant': 'shop', 'X-Api-Key': 'k' });
      const annotations = {
        'auth-url': `http://auth.example.com:${server.port}/`,
        'auth-proxy-set-headers': 'shop/auth',
      };
      await it.serve({ 'ch5.io/': 'web:80' }, annotations);
      const answer = await it.world.ask('ch5.io/', { headers: { 'x-tenant': 'forged', 'X-Own': 'kept' } });
      expect(answer.status).toBe(200);
      expect(asked).toMatchObject([{ 'x-tenant': 'shop', 'x-api-key': 'k', 'x-own': 'kept' }]);
      // They are not for the endpoint.
      expect(answer.echo.headers).toMatchObject({ 'x-tenant': 'forged' });
      expect(answer.echo.headers).not.toHaveProperty('x-api-key');
    });

    test('that are missing or invalid let no client in', async () => {
      const annotations = {
        'auth-url': `http://auth.example.com:${server.port}/`,
        'auth-proxy-set-headers': 'closed',
      };
      await it.serve({ 'ch6.io/': 'web:80' }, annotations);
      expect((await it.world.ask('ch6.io/')).status).toBe(503);
      await put('closed', { 'X-Forwarded-For': '10.0.0.1' });
      expect((await it.world.ask('ch6.io/')).status).toBe(503);
      expect(asked).toEqual([]);
      await put('closed', { 'X-A': '1' });
      expect((await it.world.ask('ch6.io/')).status).toBe(200);
    });
  });
}
