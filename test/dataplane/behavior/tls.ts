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

    test('routes by the host of the request, not by the server name of the handshake', async () => {
      const session = http2Session(world.ports.https, 'a.x.io');
      expect((await askHttp2(session, 'b.x.io/')).status).toBe(200);
      expect((await askHttp2(session, 'elsewhere/')).status).toBe(404);
      session.destroy();
    });
  });
}
