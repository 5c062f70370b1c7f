import { type ConnectionOptions, connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../../packages/tidegate/src/ingress/testing/certificates.ts';
import { secret } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { MakeDriver } from '../support/world.ts';
import { PolicyCluster } from './policy-cluster.ts';

const [A, B] = ['ECDHE-ECDSA-AES128-GCM-SHA256', 'ECDHE-ECDSA-AES256-GCM-SHA384'] as const;

/** Ciphers of TLS connections of clients. */
export function ciphers(make: MakeDriver): void {
  describe('ciphers', () => {
    let it: PolicyCluster;
    const authority = new TestAuthority();

    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      const names = ['one.io', 'server.io', 'client.io', 'joined.io', 'invalid.io', 'usual.io'];
      it.cluster.put('Secret', secret('tls', authority.issue(names)));
      const tls = [{ hosts: names, secretName: 'tls' }];
      const both = { 'ssl-ciphers': `${A}:${B}` };
      await it.serve({ 'usual.io/': 'web:80' }, {}, { tls });
      await it.serve({ 'one.io/': 'web:80', 'own.io/': 'web:80' }, { 'ssl-ciphers': A });
      await it.serve({ 'server.io/': 'web:80' }, { ...both, 'ssl-prefer-server-ciphers': 'true' });
      await it.serve({ 'client.io/': 'web:80' }, { ...both, 'ssl-prefer-server-ciphers': 'false' });
      await it.serve({ 'joined.io/a': 'web:80' }, { 'ssl-ciphers': B }, { age: 9 });
      await it.serve({ 'joined.io/b': 'web:80' }, { 'ssl-ciphers': A }, { age: 1 });
      await it.serve({ 'invalid.io/': 'web:80' }, { 'ssl-ciphers': 'ALL@SECLEVEL=0' });
    });
    afterAll(() => it.stop());

    /** The cipher of a connection, or the code of the error. */
    const cipherOf = (servername: string, own: string, more: ConnectionOptions = {}): Promise<string> =>
      new Promise((resolve) => {
        const options = { ciphers: own, maxVersion: 'TLSv1.2', ...more } as const;
        const port = it.world.ports.https;
        const socket = connect({
          port,
          host: '127.0.0.1',
          servername,
          rejectUnauthorized: false,
          ...options,
        });
        socket.once('secureConnect', () => {
          resolve(socket.getCipher().name);
          socket.destroy();
        });
        socket.once('error', (error: NodeJS.ErrnoException) => resolve(`${error.code}`));
      });

    test('are those of the host, with its own certificate and with that of the router', async () => {
      for (const host of ['one.io', 'own.io']) {
        expect({ host, found: await cipherOf(host, `${B}:${A}`) }).toEqual({ host, found: A });
        expect(await cipherOf(host, B)).toMatch(/^E/);
        expect(await cipherOf(host, B)).not.toBe(B);
      }
      expect(await cipherOf('usual.io', B)).toBe(B);
    });

    test('are chosen in the order of the router or of the client', async () => {
      expect(await cipherOf('server.io', `${B}:${A}`)).toBe(A);
      expect(await cipherOf('client.io', `${B}:${A}`)).toBe(B);
      expect(await cipherOf('client.io', `${A}:${B}`)).toBe(A);
    });

    test('are those of the oldest Ingress of the host', async () => {
      expect(await cipherOf('joined.io', `${A}:${B}`)).toBe(B);
    });

    test('do not affect TLS 1.3, and an invalid list is ignored', async () => {
      const modern = {
        ciphers: 'TLS_AES_128_GCM_SHA256',
        maxVersion: 'TLSv1.3',
        minVersion: 'TLSv1.3',
      } as const;
      expect(await cipherOf('one.io', '', modern)).toBe('TLS_AES_128_GCM_SHA256');
      expect(await cipherOf('invalid.io', B)).toBe(B);
      for (const host of ['one.io', 'client.io', 'invalid.io'])
        expect((await it.world.askSecurely(`${host}/`)).status).toBe(200);
    });
  });
}
