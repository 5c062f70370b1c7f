import { createPublicKey, X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import type { KeyPair } from '@tidegate/kube/certificates';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bundleOf, isServingCurrent, newServingCertificate, renewed, signerOf } from './authorities.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 1);

const signed = (serving: KeyPair, authority: KeyPair): boolean =>
  new X509Certificate(serving.certificate).verify(createPublicKey(authority.key));

describe('the authorities of the webhook', () => {
  it('start with one authority, which signs immediately', () => {
    const [first, ...others] = renewed([], START);
    expect(others).toEqual([]);
    expect(signerOf([first!], START, '')).toBe(first);
  });

  it('do not change while nothing is due', () => {
    const authorities = renewed([], START);
    expect(renewed(authorities, START + 100 * DAY)).toBe(authorities);
  });

  it('add an authority at half of the lifetime, which signs after API servers had time to trust it', () => {
    const before = renewed([], START);
    const at = START + 190 * DAY;
    const after = renewed(before, at);
    expect(after).toHaveLength(2);
    expect(signerOf(after, at, bundleOf(after))).toBe(before[0]);
    expect(signerOf(after, at + HOUR, bundleOf(after))).toBe(after[0]);
    expect(bundleOf(after)).toBe(after[0]!.certificate + before[0]!.certificate);
    expect(renewed(after, START + 366 * DAY)).toEqual([after[0]]);
  });

  it('sign with a new authority only after an administrator has copied it, where that is needed', () => {
    const before = renewed([], START);
    const after = renewed(before, START + 190 * DAY);
    expect(signerOf(after, START + 300 * DAY, bundleOf(before))).toBe(before[0]);
    expect(signerOf(after, START + 300 * DAY, bundleOf(after))).toBe(after[0]);
  });

  it('start again after all authorities expired', () => {
    const after = renewed(renewed([], START), START + 1000 * DAY);
    expect(after).toHaveLength(1);
    expect(signerOf(after, START + 1000 * DAY, '')).toBe(after[0]);
  });

  it('never sign with an authority that is not trusted yet, if there is another', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 100 * DAY }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(steps, (pauses) => {
        let now = START;
        let authorities = renewed([], now);
        for (const pause of pauses) {
          const trusted = authorities;
          now += pause;
          authorities = renewed(authorities, now);
          const signer = signerOf(authorities, now, bundleOf(authorities));
          const serving = newServingCertificate(signer, ['w.example'], now);
          expect(signed(serving, signer) && isServingCurrent(serving, signer, now)).toBe(true);
          expect(trusted.includes(signer) || signer === authorities.at(-1)).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('a serving certificate', () => {
  it('is current until half of its lifetime, and only for its authority', () => {
    const authorities = renewed([], START);
    const signer = signerOf(authorities, START, '');
    const serving = newServingCertificate(signer, ['w.example'], START);
    expect(isServingCurrent(serving, signer, START + 14 * DAY)).toBe(true);
    expect(isServingCurrent(serving, signer, START + 16 * DAY)).toBe(false);
    expect(isServingCurrent(serving, renewed([], START)[0]!, START)).toBe(false);
  });

  it('never expires after its authority', () => {
    const [authority] = renewed([], START);
    const { validTo } = new X509Certificate(
      newServingCertificate(authority!, ['w'], START + 350 * DAY).certificate,
    );
    expect(Date.parse(validTo)).toBe(START + 365 * DAY);
  });

  it.each(['tidegate-webhook.tidegate-system.svc', '127.0.0.1'])('is accepted for %s', async (host) => {
    const now = Date.now();
    const authorities = [...renewed([], now), ...renewed([], now - 1000)];
    for (const signer of authorities) {
      const { certificate, key } = newServingCertificate(signer, [host], now);
      const server = createServer({ cert: certificate, key }, (socket) => socket.end());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      // `servername` must not be an IP address. Without it, the host itself is verified.
      const name = host === '127.0.0.1' ? {} : { servername: host };
      const authorized = await new Promise<boolean>((resolve, reject) => {
        const socket = connect({ port, host: '127.0.0.1', ca: bundleOf(authorities), ...name }, () => {
          resolve(socket.authorized);
          socket.destroy();
        });
        socket.once('error', reject);
      });
      expect(authorized).toBe(true);
      await new Promise((resolve) => server.close(resolve));
    }
  });
});
