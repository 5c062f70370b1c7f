import { once } from 'node:events';
import { createConnection } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../../packages/tidegate/src/ingress/testing/certificates.ts';
import { askHttp2, http2Session, shownCertificate } from '../support/client.ts';
import { certificate, host, upstream } from '../support/words.ts';
import { type MakeDriver, World } from '../support/world.ts';

/** Which certificate a client gets. */
export function tls(make: MakeDriver): void {
  describe('tls', () => {
    const authority = new TestAuthority();
    const pair = (name: string) => authority.issue([name]);
    let world: World;
    const shown = async (name: string | undefined) =>
      (await shownCertificate(world.ports.https, name)).subject?.CN;

    beforeAll(async () => {
      world = await World.start(make);
      const one = await world.backend('one');
      await world.change({
        hosts: [host('a.x.io', 'one'), host('*.x.io', 'one')],
        upstreams: [upstream('one', [one.port])],
        certificates: [certificate('a.x.io', pair('first of a')), certificate('*.x.io', pair('wildcard'))],
      });
    });
    afterAll(() => world.stop());

    test('presents the certificate of the host, else of its wildcard, else the default certificate', async () => {
      expect(await shown('a.x.io')).toBe('first of a');
      expect(await shown('A.X.io')).toBe('first of a');
      expect(await shown('b.x.io')).toBe('wildcard');
      expect(await shown('c.b.x.io')).toBe('default-certificate.tidegate.invalid');
      expect(await shown('x.io')).toBe('default-certificate.tidegate.invalid');
      expect(await shown(undefined)).toBe('default-certificate.tidegate.invalid');
    });

    test('presents the certificate of the table for unknown server names', async () => {
      await world.change({ certificates: [certificate('', pair('of the class'))] });
      expect(await shown('unknown')).toBe('of the class');
      expect(await shown(undefined)).toBe('of the class');
      expect(await shown('a.x.io')).toBe('first of a');
      await world.change({ without: { certificates: [''] } });
      expect(await shown(undefined)).toBe('default-certificate.tidegate.invalid');
    });

    test('presents the default certificate for a host that must not get the certificate of its wildcard', async () => {
      const withheld = { host: 'b.x.io', secret: '', certificate: '', key: '', fingerprint: '' };
      await world.change({ certificates: [withheld] });
      expect(await shown('b.x.io')).toBe('default-certificate.tidegate.invalid');
      expect(await shown('d.x.io')).toBe('wildcard');
      await world.change({ without: { certificates: ['b.x.io'] } });
      expect(await shown('b.x.io')).toBe('wildcard');
    });

    test('uses a new certificate for the next handshake and keeps open connections', async () => {
      const session = http2Session(world.ports.https, 'a.x.io');
      expect((await askHttp2(session, 'a.x.io/')).status).toBe(200);
      for (let i = 0; i < 5; i++) {
        await world.change({ certificates: [certificate('a.x.io', pair(`number ${i}`))] });
        expect(await shown('a.x.io')).toBe(`number ${i}`);
        expect((await askHttp2(session, 'a.x.io/')).status).toBe(200);
      }
      session.destroy();
      await world.change({ without: { certificates: ['a.x.io'] } });
      expect(await shown('a.x.io')).toBe('wildcard');
    });

    test('presents the default certificate in place of an invalid one, and keeps serving other hosts', async () => {
      await world.change({ certificates: [certificate('', pair('before'))] });
      // Each worker of the data plane has read the certificate before it becomes invalid.
      for (let i = 0; i < 20; i++) expect(await shown(undefined)).toBe('before');
      const broken = { certificate: 'not a certificate', key: 'nor a key' };
      await world.change({
        certificates: [certificate('broken.x.io', broken), certificate('', broken)],
      });
      expect(await shown(undefined)).toBe('default-certificate.tidegate.invalid');
      expect(await shown('broken.x.io')).toBe('default-certificate.tidegate.invalid');
      expect(await shown('b.x.io')).toBe('wildcard');
      expect((await world.askSecurely('broken.x.io/')).status).toBe(200);
      await world.change({ without: { certificates: ['broken.x.io', ''] } });
    });

    test('presents certificates with RSA and ECDSA keys, whichever kind a client prefers', async () => {
      const both = { rsa: authority.issue(['rsa.x.io'], { rsa: true }), ecdsa: pair('ecdsa.x.io') };
      await world.change({
        certificates: [certificate('rsa.x.io', both.rsa), certificate('ecdsa.x.io', both.ecdsa)],
      });
      for (const sigalgs of [undefined, 'ECDSA+SHA256:RSA-PSS+SHA256', 'RSA-PSS+SHA256:ECDSA+SHA256']) {
        for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
          const options = { ...(sigalgs && { sigalgs }), maxVersion };
          const names = ['rsa.x.io', 'ecdsa.x.io', 'b.x.io'];
          const all = names.map((name) => shownCertificate(world.ports.https, name, options));
          expect((await Promise.all(all)).map(({ subject }) => subject?.CN)).toEqual([
            'rsa.x.io',
            'ecdsa.x.io',
            'wildcard',
          ]);
        }
      }
      await world.change({ certificates: [certificate('', both.rsa)] });
      expect(await shown('rsa.x.io')).toBe('rsa.x.io');
      expect(await shown('unknown')).toBe('rsa.x.io');
      expect(await shown(undefined)).toBe('rsa.x.io');
      expect(await shown('ecdsa.x.io')).toBe('ecdsa.x.io');
      await world.change({ without: { certificates: ['', 'rsa.x.io', 'ecdsa.x.io'] } });
    });

    test('presents the whole chain', async () => {
      await world.change({
        certificates: [
          certificate('chain.x.io', authority.issue(['chain.x.io'], { rsa: true, chain: true })),
        ],
      });
      const shownChain = await new Promise((resolve, reject) => {
        const options = { host: '127.0.0.1', servername: 'chain.x.io', ca: authority.certificate };
        const socket = connect({ ...options, port: world.ports.https }, () => {
          const { issuerCertificate } = socket.getPeerCertificate(true);
          resolve([socket.authorized, issuerCertificate.subject.CN]);
          socket.destroy();
        });
        socket.once('error', reject);
      });
      expect(shownChain).toEqual([true, 'test']);
      await world.change({ without: { certificates: ['chain.x.io'] } });
    });

    test('accepts a hello that arrives in pieces, and ends connections that send something else', async () => {
      const other = createConnection({ host: '127.0.0.1', port: world.ports.https });
      other.write('GET / HTTP/1.1\r\n\r\n');
      await once(other.resume(), 'close');
      const raw = createConnection({ host: '127.0.0.1', port: world.ports.https });
      const pieces = new Duplex({
        read() {},
        write(chunk: Buffer, _, done) {
          void (async () => {
            for (let at = 0; at < chunk.length; at += 100) {
              await new Promise((written) => raw.write(chunk.subarray(at, at + 100), written));
              await setImmediate();
            }
          })().then(() => done(), done);
        },
      });
      raw.setNoDelay(true);
      raw.on('data', (chunk) => pieces.push(chunk));
      const socket = connect({ socket: pieces, servername: 'a.x.io', rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      expect(socket.getPeerCertificate().subject.CN).toBe('wildcard');
      socket.destroy();
      raw.destroy();
    });

    test('routes by the host of the request, not by the server name of the handshake', async () => {
      const session = http2Session(world.ports.https, 'a.x.io');
      expect((await askHttp2(session, 'b.x.io/')).status).toBe(200);
      expect((await askHttp2(session, 'elsewhere/')).status).toBe(404);
      session.destroy();
    });
  });
}
