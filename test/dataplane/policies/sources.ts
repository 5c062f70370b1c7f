import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askHttp2, http2Session } from '../support/client.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

/** Tests connect from 127.0.0.1. */
export function sources(make: MakeDriver): void {
  describe('allow and deny lists', () => {
    let it: PolicyCluster;
    beforeAll(async () => {
      it = await PolicyCluster.start(make);
    });
    afterAll(() => it.stop());

    test.each([
      ['whitelist-source-range', '127.0.0.1', 'web'],
      ['whitelist-source-range', ' 10.0.0.0/8 , 127.0.0.0/8', 'web'],
      ['allowlist-source-range', '0.0.0.0/0,::/0', 'web'],
      ['allowlist-source-range', '126.0.0.0/7', 'web'],
      ['allowlist-source-range', '10.0.0.0/8,::1', 403],
      ['allowlist-source-range', '127.0.0.2/31', 403],
      ['allowlist-source-range', '::ffff:127.0.0.1', 'web'],
      ['denylist-source-range', '10.0.0.0/8', 'web'],
      ['denylist-source-range', '10.0.0.0/8,127.0.0.1/32', 403],
    ])('%s: %s answers %s', async (name, value, expected) => {
      const host = `s${value.replace(/[^0-9]/g, '')}${name[0]}.io`;
      await it.serve({ [`${host}/`]: 'web:80' }, { [name]: value });
      expect(await it.world.respondingBackend(`${host}/x`)).toBe(expected);
    });

    test('a deny list wins over an allow list, also over HTTPS and HTTP/2', async () => {
      const both = { 'allowlist-source-range': '127.0.0.0/8', 'denylist-source-range': '127.0.0.1' };
      await it.serve({ 'both.io/': 'web:80' }, both);
      expect(await it.world.respondingBackend('both.io/')).toBe(403);
      expect((await it.world.askSecurely('both.io/')).status).toBe(403);
      const session = http2Session(it.world.ports.https, 'both.io');
      expect((await askHttp2(session, 'both.io/')).status).toBe(403);
      session.destroy();
    });

    test('a client cannot choose its address with a header', async () => {
      await it.serve({ 'fake.io/': 'web:80' }, { 'allowlist-source-range': '10.0.0.0/8' });
      const headers = { 'X-Forwarded-For': '10.0.0.1', 'X-Real-IP': '10.0.0.1', Forwarded: 'for=10.0.0.1' };
      expect(await it.world.respondingBackend('fake.io/', { headers })).toBe(403);
    });

    test('no other spelling of a protected path reaches another route', async () => {
      await it.serve({ 'door.io/admin': 'web:80' }, { 'allowlist-source-range': '10.0.0.0/8' });
      await it.serve({ 'door.io/': 'other:80' });
      for (const path of [
        '/admin',
        '/admin/x',
        '//admin',
        '/%61dmin',
        '/admin%2fx',
        '//%61dmin//x',
        '/%2fadmin',
      ])
        expect({ path, answer: await it.world.respondingBackend(`door.io${path}`) }).toEqual({
          path,
          answer: 403,
        });
      for (const path of [
        ...['/admin;x', '/;/admin', '/\\admin', '/x;y/..;/admin'],
        ...['/%2561dmin', '/x/%252e%252e/admin', '//x/admin', '/\\x/admin', '/%2Fx/admin'],
      ])
        expect({ path, answer: await it.world.respondingBackend(`door.io${path}`) }).toEqual({
          path,
          answer: 400,
        });
      for (const path of ['/', '/administrator', '/a;b', '/x//y', '/%41'])
        expect({ path, answer: await it.world.respondingBackend(`door.io${path}`) }).toEqual({
          path,
          answer: 'other',
        });
    });

    test.each([
      ['/caf%C3%A9', ['/caf%C3%A9', '/caf%c3%a9', '/%63af%C3%A9/x']],
      ['/admin%20area', ['/admin%20area', '//admin%20area', '/%61dmin%20area']],
      ['/~ad%6Din', ['/~ad%6Din', '/~admin', '//~admin/x']],
      ['/a//admin', ['/a//admin', '/a///admin', '/a//%61dmin', '/a/admin']],
    ])('%s is protected in each spelling', async (written, paths) => {
      const host = `as${written.replace(/[^a-z]/g, '')}.io`;
      await it.serve({ [`${host}${written}`]: 'web:80' }, { 'allowlist-source-range': '10.0.0.0/8' });
      await it.serve({ [`${host}/`]: 'other:80' });
      for (const path of paths)
        expect({ path, answer: await it.world.respondingBackend(host + path) }).toEqual({
          path,
          answer: 403,
        });
      expect(await it.world.respondingBackend(`${host}${written};x`)).toBe(400);
      expect(await it.world.respondingBackend(`${host}/x%20y`)).toBe('other');
    });

    test('an Exact path is protected from servers that remove path parameters before they decode', async () => {
      await it.serve({ '=exact.io/admin': 'web:80' }, { 'allowlist-source-range': '10.0.0.0/8' });
      await it.serve({ 'exact.io/': 'other:80' });
      for (const path of ['/admin;x%2Fy', '/admin;x%5Cy', '/admin;x\\y', '/admin;'])
        expect({ path, answer: await it.world.respondingBackend(`exact.io${path}`) }).toEqual({
          path,
          answer: 400,
        });
      expect(await it.world.respondingBackend('exact.io/admin/x')).toBe('other');
    });

    test('a path that two lists may apply to is refused', async () => {
      await it.serve({ 'three.io/': 'other:80' });
      await it.serve({ 'three.io/api': 'other:80' }, { 'denylist-source-range': '10.0.0.0/8' });
      await it.serve({ 'three.io/api/admin': 'web:80' }, { 'allowlist-source-range': '10.0.0.0/8' });
      for (const [path, answer] of [
        ['/api/x', 'other'],
        ['/%61pi/x', 'other'],
        ['/api/admin', 403],
        ['/%61pi/admin', 403],
        ['/api/%61dmin', 400],
        ['/api/admin;x', 400],
        ['/%61pi/admin;x', 400],
        ['/%61pi/;/admin', 400],
        ['//api/;/admin', 400],
        ['/%61pi%5cadmin', 400],
        ['//api\\admin', 400],
      ] as const)
        expect({ path, answer: await it.world.respondingBackend(`three.io${path}`) }).toEqual({
          path,
          answer,
        });
    });

    test('a list next to an annotation that is not valid closes the host', async () => {
      const annotations = { 'allowlist-source-range': '10.0.0.0/8', 'force-ssl-redirect': 'yes' };
      await it.serve({ 'typo.io/admin': 'web:80' }, annotations);
      await it.serve({ 'typo.io/': 'other:80' });
      for (const path of ['/admin', '//admin', '/%61dmin', '/admin;x', '/'])
        expect({ path, answer: await it.world.respondingBackend(`typo.io${path}`) }).toEqual({
          path,
          answer: 503,
        });
    });

    test('a list applies to literal paths and bytes on a host with regular expressions', async () => {
      const list = { 'allowlist-source-range': '10.0.0.0/8' };
      await it.serve({ 'rx.io/files(1)': 'web:80', 'rx.io/a+b': 'web:80', 'rx.io/th%C3%A9': 'web:80' }, list);
      await it.serve({ 'rx.io/caf\\xC3\\xA9': 'web:80' }, { ...list, 'use-regex': 'true' });
      await it.serve({ 'rx.io/': 'other:80' });
      await it.serve({ 'rx.io/new(/|$)(.*)': 'other:80' }, { 'rewrite-target': '/$2' });
      for (const path of [
        '/files(1)',
        '/a+b',
        '//a+b/x',
        '/th%C3%A9',
        '//th%c3%a9',
        '/caf%C3%A9',
        '/caf%C3%A9/x',
      ])
        expect({ path, answer: await it.world.respondingBackend(`rx.io${path}`) }).toEqual({
          path,
          answer: 403,
        });
      expect(await it.world.respondingBackend('rx.io/new/x')).toBe('other');
    });

    test('a list that an older Ingress hides closes the host', async () => {
      await it.serve({ 'hid.io/admin': 'other:80' }, {}, { age: 9 });
      await it.serve({ 'hid.io/admin': 'web:80' }, { 'allowlist-source-range': '10.0.0.0/8' }, { age: 1 });
      for (const path of ['/admin', '/x'])
        expect(await it.world.respondingBackend(`hid.io${path}`)).toBe(503);
    });

    test('an invalid list closes the host, and a corrected one opens it', async () => {
      const rules = { 'wrong.io/a': 'web:80' };
      await it.serve(rules, { 'whitelist-source-range': '10.0.0.0/8,oops' }, { name: 'wrong' });
      await it.serve({ 'wrong.io/': 'other:80' });
      for (const path of ['/a', '/', '//a'])
        expect(await it.world.respondingBackend(`wrong.io${path}`)).toBe(503);
      await it.serve(rules, { 'whitelist-source-range': '127.0.0.1' }, { name: 'wrong' });
      expect(await it.world.respondingBackend('wrong.io/a')).toBe('web');
      expect(await it.world.respondingBackend('wrong.io/b')).toBe('other');
    });

    test('a protected path that cannot be compiled closes its host', async () => {
      const protect = { 'whitelist-source-range': '127.0.0.1', 'use-regex': 'true' };
      await it.serve({ 'odd.io/(?=a)admin': 'web:80' }, protect);
      await it.serve({ 'odd.io/': 'other:80' });
      expect(await it.world.respondingBackend('odd.io/admin')).toBe(503);
    });

    test('a rule without a host is protected for a host of its namespace', async () => {
      await it.serve({ '/secret': 'web:80' }, { 'denylist-source-range': '127.0.0.1' });
      await it.serve({ 'plain.io/x': 'other:80' });
      expect(await it.world.respondingBackend('plain.io/secret')).toBe(403);
      expect(await it.world.respondingBackend('plain.io//secret')).toBe(403);
      expect(await it.world.respondingBackend('plain.io/x')).toBe('other');
    });
  });
}
