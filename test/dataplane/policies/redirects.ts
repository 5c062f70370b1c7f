import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

export function redirects(make: MakeDriver): void {
  describe('redirects', () => {
    let it: PolicyCluster;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
    });
    afterAll(() => it.stop());

    test.each([
      [{ 'permanent-redirect': 'https://new.io/x' }, '301 https://new.io/x'],
      [{ 'permanent-redirect': 'https://new.io', 'permanent-redirect-code': '308' }, '308 https://new.io'],
      [{ 'temporal-redirect': 'http://new.io:8080/?a=b' }, '302 http://new.io:8080/?a=b'],
      [{ 'temporal-redirect': '/x', 'temporal-redirect-code': '307' }, '307 /x'],
      [{ 'temporal-redirect': 'https://a.io', 'permanent-redirect': 'https://b.io' }, '302 https://a.io'],
      [{ 'permanent-redirect': 'https://new.io$request_uri' }, '301 https://new.io/a/b?c=d&e'],
      [
        { 'permanent-redirect': '$scheme://x-$host$\x7buri}/end$is_args$args' },
        '301 http://x-HOST/a/b/end?c=d&e',
      ],
    ])('%j: %s', async (annotations, expected) => {
      const host = `r${JSON.stringify(annotations).length}.io`;
      // No Service is needed: the backend is never asked.
      await it.serve({ [`${host}/`]: 'missing:80' }, annotations);
      expect(await it.redirect(`${host}/a/b?c=d&e`)).toBe(expected.replace('HOST', host));
    });

    test('a redirect of one path leaves the others', async () => {
      await it.serve({ 'part.io/old': 'web:80' }, { 'permanent-redirect': 'https://new.io' });
      await it.serve({ 'part.io/': 'web:80' });
      expect(await it.redirect('part.io/old/x')).toBe('301 https://new.io');
      expect(await it.seen('part.io/older')).toBe('/older');
    });

    test('an invalid redirect is not served, and other Ingresses of the host are', async () => {
      await it.serve({ 'bad.io/a': 'web:80' }, { 'permanent-redirect': 'javascript:alert(1)' });
      await it.serve({ 'bad.io/': 'web:80' });
      expect(await it.seen('bad.io/a')).toBe(503);
      expect(await it.seen('bad.io/b')).toBe('/b');
    });

    test('force-ssl-redirect redirects to HTTPS for its own paths', async () => {
      await it.serve({ 'safe.io/': 'web:80' }, { 'force-ssl-redirect': 'true' });
      expect(await it.redirect('safe.io/a/?b')).toBe('308 https://safe.io/a/?b');
      await it.serve({ 'safe.io/.well-known/acme-challenge/x': 'other:80' });
      expect(await it.world.respondingBackend('safe.io/.well-known/acme-challenge/x')).toBe('other');
      expect(await it.redirect('safe.io/')).toBe('308 https://safe.io/');
      expect((await it.world.askSecurely('safe.io/a')).status).toBe(200);
    });

    test('ssl-redirect redirects to HTTPS only for hosts with TLS', async () => {
      const tls = [{ hosts: ['with.io', '*.wild.io'], secretName: 'tls' }];
      const rules = { 'with.io/': 'web:80', 'a.wild.io/': 'web:80', 'without.io/': 'web:80' };
      await it.serve(rules, { 'ssl-redirect': 'true' }, { tls });
      expect(await it.redirect('with.io/a')).toBe('308 https://with.io/a');
      expect(await it.redirect('a.wild.io/a')).toBe('308 https://a.wild.io/a');
      expect(await it.seen('without.io/a')).toBe('/a');
      await it.serve({ 'off.io/': 'web:80' }, { 'ssl-redirect': 'false' }, { tls: [{ hosts: ['off.io'] }] });
      expect(await it.seen('off.io/a')).toBe('/a');
    });

    test('from-to-www-redirect redirects the other name, unless it has rules', async () => {
      await it.serve({ 'www.one.io/': 'web:80', 'two.io/a': 'web:80' }, { 'from-to-www-redirect': 'true' });
      expect(await it.redirect('one.io/a?b')).toBe('308 http://www.one.io/a?b');
      expect(await it.redirect('www.two.io/x')).toBe('308 http://two.io/x');
      const secure = await it.world.askSecurely('www.two.io/x');
      expect(`${secure.status} ${secure.headers.location}`).toBe('308 https://two.io/x');
      expect(await it.seen('www.one.io/')).toBe('/');
      await it.serve({ 'one.io/only': 'other:80' });
      expect(await it.world.respondingBackend('one.io/only')).toBe('other');
      expect(await it.seen('one.io/a')).toBe(404);
    });

    test('app-root redirects / of the host', async () => {
      await it.serve({ 'app.io/app': 'web:80' }, { 'app-root': '/app/start' });
      expect(await it.redirect('app.io:8080/')).toBe('302 http://app.io:8080/app/start');
      expect(await it.seen('app.io/app/start')).toBe('/app/start');
      expect((await it.world.askSecurely('app.io/')).headers.location).toBe('https://app.io/app/start');
    });
  });
}
