import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Canary Ingresses. `web` is the backend of the path, `other` that of the canary. */
export function canaries(make: MakeDriver): void {
  describe('canaries', () => {
    let it: PolicyCluster;
    let made = 0;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
    });
    afterAll(() => it.stop());

    const serve = async (
      annotations: Record<string, string>,
      { main = {}, backend = 'other:80' }: { main?: Record<string, string>; backend?: string } = {},
    ): Promise<string> => {
      const host = `c${made++}.io`;
      await it.serve({ [`${host}/app`]: 'web:80' }, main, { age: 2 });
      await it.serve({ [`${host}/app`]: backend }, { canary: 'true', ...annotations }, { age: 1 });
      return `${host}/app`;
    };
    const backend = (where: string, headers: Record<string, string> = {}) =>
      it.world.respondingBackend(where, { headers });

    test.each([
      ['0', 'web'],
      ['100', 'other'],
    ])('with weight %s, all requests go to %s', async (weight, expected) => {
      const where = await serve({ 'canary-weight': weight });
      for (let i = 0; i < 5; i++) expect(await backend(where)).toBe(expected);
    });

    test('a weight divides the requests', async () => {
      const where = await serve({ 'canary-weight': '1', 'canary-weight-total': '2' });
      const seen = new Set<string | number>();
      await expect.poll(async () => seen.add(await backend(where)).size).toBe(2);
      expect([...seen].sort()).toEqual(['other', 'web']);
    });

    test.each([
      [{ 'X-Canary': 'always' }, 'other'],
      [{ 'X-Canary': 'never' }, 'web'],
      [{ 'X-Canary': 'maybe' }, 'web'],
      [{ Cookie: 'a=b; beta=always' }, 'other'],
      [{ Cookie: 'beta=never' }, 'web'],
      [{ Cookie: 'xbeta=always' }, 'web'],
      [{ 'X-Canary': 'never', Cookie: 'beta=always' }, 'web'],
      [{ 'X-Canary': 'maybe', Cookie: 'beta=always' }, 'other'],
      [{}, 'web'],
    ])('headers %j lead to %s', async (headers, expected) => {
      const annotations = {
        'canary-by-header': 'X-Canary',
        'canary-by-cookie': 'beta',
        'canary-weight': '0',
      };
      expect(await backend(await serve(annotations), headers as Record<string, string>)).toBe(expected);
    });

    test('a header that says never wins over the weight', async () => {
      const where = await serve({ 'canary-by-header': 'x-canary', 'canary-weight': '100' });
      expect(await backend(where, { 'x-canary': 'never' })).toBe('web');
      expect(await backend(where)).toBe('other');
    });

    test.each([
      [{ 'canary-by-header-value': 'eu' }, 'eu', 'other'],
      [{ 'canary-by-header-value': 'eu' }, 'EU', 'web'],
      [{ 'canary-by-header-value': 'eu' }, 'always', 'web'],
      [{ 'canary-by-header-pattern': '^(eu|us)-[0-9]+$' }, 'us-12', 'other'],
      [{ 'canary-by-header-pattern': '^(eu|us)-[0-9]+$' }, 'US-12', 'web'],
      [{ 'canary-by-header-pattern': '^Eu' }, 'Eu', 'other'],
      [{ 'canary-by-header-pattern': '(?i)^eu' }, 'EU-1', 'other'],
      [{ 'canary-by-header-pattern': 'u-1' }, 'eu-12', 'other'],
      [{ 'canary-by-header-pattern': 'x', 'canary-by-header-value': 'eu' }, 'x', 'web'],
      [{ 'canary-by-header-pattern': '(.*a){30}!' }, 'a'.repeat(9000), 'web'],
    ])('with %j, the header %s leads to %s', async (annotations, value, expected) => {
      const where = await serve({ 'canary-by-header': 'Region', ...(annotations as Record<string, string>) });
      expect(await backend(where, { Region: value })).toBe(expected);
    });

    test('the policies of the other Ingress apply', async () => {
      const main = { 'rewrite-target': '/in', 'denylist-source-range': '127.0.0.1' };
      const { 'rewrite-target': target } = main;
      const where = await serve({ 'canary-weight': '100' }, { main: { 'rewrite-target': target } });
      expect(await it.seen(where)).toBe('/in');
      expect(await backend(where)).toBe('other');
      expect(await backend(await serve({ 'canary-weight': '100' }, { main }))).toBe(403);
    });

    test('a canary with other restrictions gets no requests', async () => {
      const own = { 'canary-weight': '100', 'allowlist-source-range': '127.0.0.1' };
      expect(await backend(await serve(own))).toBe('web');
      const main = { 'allowlist-source-range': '127.0.0.1' };
      expect(await backend(await serve(own, { main }))).toBe('other');
    });

    test('a canary of a closed path gets no requests', async () => {
      const closing: Record<string, string>[] = [
        { 'auth-type': 'digest' },
        { 'rewrite-target': 'x y' },
        { 'auth-snippet': 'x' },
      ];
      for (const main of closing)
        expect(await backend(await serve({ 'canary-weight': '100' }, { main }))).toBe(503);
    });

    test('an invalid canary gets no requests', async () => {
      const wrong: Record<string, string>[] = [
        { 'canary-weight': 'many' },
        { 'canary-weight': '100', 'canary-by-header-pattern': '(a' },
        { 'canary-weight': '100', 'canary-by-cookie': 'a b' },
      ];
      for (const annotations of wrong) expect(await backend(await serve(annotations))).toBe('web');
    });

    test('a canary without endpoints gets no requests', async () => {
      expect(await backend(await serve({ 'canary-weight': '100' }, { backend: 'none:80' }))).toBe('web');
    });

    test('a canary without another Ingress is not served', async () => {
      await it.serve({ 'alone.io/': 'other:80' }, { canary: 'true', 'canary-weight': '100' });
      expect(await backend('alone.io/')).toBe(404);
      await it.serve({ 'alone.io/': 'web:80' });
      expect(await backend('alone.io/')).toBe('other');
    });

    test('canary: false makes no canary', async () => {
      await it.serve({ 'false.io/': 'other:80' }, { canary: 'false', 'canary-weight': '0' });
      expect(await backend('false.io/')).toBe('other');
    });
  });
}
