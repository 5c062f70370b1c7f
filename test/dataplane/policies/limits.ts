import { Agent } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { service, slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import { Backend } from '../support/backend.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Limits of requests, connections and bytes. Tests connect from 127.0.0.1. */
export function limits(make: MakeDriver): void {
  describe('limits of a client', () => {
    let it: PolicyCluster;
    const slow: (() => void)[] = [];
    let isSlow = true;
    let waiting: Backend;
    let large: Backend;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      waiting = await Backend.start('waiting', {
        handle: (_, response) => {
          if (isSlow) slow.push(() => response.end('done'));
          else response.end('done');
        },
      });
      large = await Backend.start('large', { handle: (_, response) => response.end('x'.repeat(3 * 1024)) });
      for (const { name, port } of [waiting, large]) {
        it.cluster.put('Service', service(name, ['http:80']));
        it.cluster.put('EndpointSlice', slice(name, { '127.0.0.1': {} }, { ports: { http: port } }));
      }
    });
    afterAll(async () => {
      await it.stop();
      await waiting.stop();
      await large.stop();
    });

    const answers = async (where: string, count: number): Promise<(string | number)[]> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const results: (string | number)[] = [];
      for (let i = 0; i < count; i++) results.push(await it.world.respondingBackend(where, { agent }));
      agent.destroy();
      return results;
    };

    test('requests beyond the burst get 503, also on other paths of the Ingress', async () => {
      // One request in a minute: no bucket empties during the test.
      const annotations = { 'limit-rpm': '1', 'limit-burst-multiplier': '3' };
      await it.serve({ 'rpm.io/a': 'web:80', 'rpm.io/b': 'web:80' }, annotations);
      await it.serve({ 'rpm.io/': 'other:80' });
      await it.serve({ 'rpm2.io/': 'other:80' }, annotations);
      expect(await answers('rpm.io/a', 4)).toEqual(['web', 'web', 'web', 'web']);
      expect(await answers('rpm.io/a', 2)).toEqual([503, 503]);
      expect(await answers('rpm.io/b', 1)).toEqual([503]);
      for (const path of ['//a', '/%61']) expect(await answers(`rpm.io${path}`, 1)).toEqual([503]);
      // Another Ingress has its own.
      expect(await answers('rpm2.io/', 5)).toEqual(['other', 'other', 'other', 'other', 503]);
      expect(await answers('rpm.io/x', 1)).toEqual(['other']);
    });

    test('another spelling counts for the Ingress of the path that it means', async () => {
      const annotations = { 'limit-rpm': '1', 'limit-burst-multiplier': '1' };
      await it.serve({ 'zones.io/api': 'web:80' }, annotations);
      await it.serve({ 'zones.io/': 'other:80' }, annotations);
      expect(await answers('zones.io/api', 3)).toEqual(['web', 'web', 503]);
      for (const path of ['//api', '/%61pi', '/API'])
        expect({ path, answer: await answers(`zones.io${path}`, 1) }).toEqual({ path, answer: [503] });
      expect(await answers('zones.io/x', 1)).toEqual(['other']);
    });

    test('the default burst is five times the limit', async () => {
      await it.serve({ 'five.io/': 'web:80' }, { 'limit-rpm': '1' });
      expect(await answers('five.io/', 7)).toEqual([...Array(6).fill('web'), 503]);
    });

    test('a bucket empties with its rate', async () => {
      await it.serve({ 'rps.io/': 'web:80' }, { 'limit-rps': '20', 'limit-burst-multiplier': '1' });
      await expect.poll(() => answers('rps.io/', 60)).toContain(503);
      await expect.poll(() => answers('rps.io/', 1)).toEqual(['web']);
    });

    test('clients in the allow list have no limit', async () => {
      const annotations = { 'limit-rpm': '1', 'limit-burst-multiplier': '1' };
      await it.serve({ 'ex.io/': 'web:80' }, { ...annotations, 'limit-whitelist': '127.0.0.0/8' });
      await it.serve({ 'in.io/': 'web:80' }, { ...annotations, 'limit-allowlist': '10.0.0.0/8' });
      expect(await answers('ex.io/', 5)).toEqual(Array(5).fill('web'));
      expect(await answers('in.io/', 3)).toEqual(['web', 'web', 503]);
    });

    test('requests at the same time are limited, and count until they end', async () => {
      await it.serve({ 'conn.io/': 'waiting:80' }, { 'limit-connections': '2' });
      const first = [it.world.ask('conn.io/1'), it.world.ask('conn.io/2')];
      await expect.poll(() => slow.length).toBe(2);
      expect((await it.world.ask('conn.io/3')).status).toBe(503);
      for (const end of slow.splice(0)) end();
      for (const { status } of await Promise.all(first)) expect(status).toBe(200);
      // The end of a request is counted a moment after the client has got the response.
      isSlow = false;
      await expect.poll(async () => (await it.world.ask('conn.io/4')).status).toBe(200);
    });

    test('a response is complete if its speed is limited', async () => {
      await it.serve({ 'kb.io/': 'large:80' }, { 'limit-rate': '2', 'limit-rate-after': '1' });
      expect((await it.world.ask('kb.io/')).body).toHaveLength(3 * 1024);
    });

    test.each([
      ['limit-rps', 'many'],
      ['limit-rpm', '-1'],
      ['limit-connections', '1.5'],
      ['limit-rate', '10k'],
      ['limit-allowlist', '10.0.0.0/99'],
    ])('%s: %s closes the host', async (name, value) => {
      const host = `${name}.bad.io`;
      await it.serve({ [`${host}/a`]: 'web:80' }, { [name]: value });
      await it.serve({ [`${host}/`]: 'other:80' });
      for (const path of ['/a', '/']) expect(await it.world.respondingBackend(host + path)).toBe(503);
    });

    test('0 stands for no limit', async () => {
      await it.serve({ 'zero.io/': 'web:80' }, { 'limit-rps': '0', 'limit-connections': '0' });
      expect(await answers('zero.io/', 3)).toEqual(['web', 'web', 'web']);
    });
  });
}
