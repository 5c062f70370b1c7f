import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

export function aliases(make: MakeDriver): void {
  describe('aliases of hosts', () => {
    let it: PolicyCluster;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
    });
    afterAll(() => it.stop());

    test('an alias has the routes and policies of the host, until rules name it', async () => {
      const annotations = { 'server-alias': 'b.io, *.c.io', 'rewrite-target': '/$1' };
      await it.serve({ 'a.io/x/(.*)': 'web:80' }, annotations);
      for (const host of ['a.io', 'b.io', 'any.c.io']) expect(await it.seen(`${host}/x/y`)).toBe('/y');
      expect(await it.seen('c.io/x/y')).toBe(404);
      await it.serve({ 'b.io/own': 'other:80' });
      expect(await it.world.respondingBackend('b.io/own')).toBe('other');
      expect(await it.seen('b.io/x/y')).toBe(404);
    });

    test('an alias cannot take a host of another namespace', async () => {
      await it.serve({ 'victim.io/': 'web:80' }, {}, { age: 100 });
      const evil = { namespace: 'evil', rules: { 'evil.io/': 'evil:80' } };
      await it.serve({ 'evil.io/': 'evil:80' }, { 'server-alias': 'victim.io' }, evil);
      expect(await it.world.respondingBackend('victim.io/')).toBe('web');
    });

    test('an alias is closed with the host', async () => {
      await it.serve({ 'shut.io/': 'web:80' }, { 'server-alias': 'also.io', 'auth-snippet': 'deny all;' });
      for (const host of ['shut.io', 'also.io']) expect(await it.seen(`${host}/`)).toBe(503);
    });
  });
}
