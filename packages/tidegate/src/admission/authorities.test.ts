import { createPublicKey, X509Certificate } from 'node:crypto';
import { connect, createServer } from 'node:tls';
import type { KeyPair } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bundleOf, isGoodServing, newServing, renewed, signerOf } from './authorities.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 1);

const signed = (serving: KeyPair, authority: KeyPair): boolean =>
  new X509Certificate(serving.certificate).verify(createPublicKey(authority.key));

describe('the authorities of the webhook', () => {
  it('begin with one, which signs at once', () => {
    const [first, ...others] = renewed([], START);
    expect(others).toEqual([]);
    expect(signerOf([first!], START)).toBe(first);
  });

  it('stay as they are while nothing is due', () => {
    const authorities = renewed([], START);
    expect(renewed(authorities, START + 100 * DAY)).toBe(authorities);
  });

  it('get a new one at half time, which signs once everybody has had time to hear of it', () => {
    const before = renewed([], START);
    const at = START + 190 * DAY;
    const after = renewed(before, at);
    expect(after).toHaveLength(2);
    expect(signerOf(after, at)).toBe(before[0]);
    expect(signerOf(after, at + HOUR)).toBe(after[0]);
    expect(bundleOf(after)).toBe(after[0]!.certificate + before[0]!.certificate);
    expect(renewed(after, START + 366 * DAY)).toEqual([after[0]]);
  });

  it('begin anew after a long absence', () => {
    const after = renewed(renewed([], START), START + 1000 * DAY);
    expect(after).toHaveLength(1);
    expect(signerOf(after, START + 1000 * DAY)).toBe(after[0]);
  });

  it('never sign with one that others have not heard of, if there is another', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 100 * DAY }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(steps, (pauses) => {
        let now = START;
        let authorities = renewed([], now);
        for (const pause of pauses) {
          const heard = authorities;
          now += pause;
          authorities = renewed(authorities, now);
          const signer = signerOf(authorities, now);
          const serving = newServing(signer, ['w.example'], now);
          expect(signed(serving, signer) && isGoodServing(serving, signer, now)).toBe(true);
          expect(heard.includes(signer) || signer === authorities.at(-1)).toBe(true);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('a serving certificate', () => {
  it('is good until half of its life, and only for its authority', () => {
    const authorities = renewed([], START);
    const signer = signerOf(authorities, START);
    const serving = newServing(signer, ['w.example'], START);
    expect(isGoodServing(serving, signer, START + 14 * DAY)).toBe(true);
    expect(isGoodServing(serving, signer, START + 16 * DAY)).toBe(false);
    expect(isGoodServing(serving, renewed([], START)[0]!, START)).toBe(false);
  });

  it('never outlives its authority', () => {
    const [authority] = renewed([], START);
    const { validTo } = new X509Certificate(newServing(authority!, ['w'], START + 350 * DAY).certificate);
    expect(Date.parse(validTo)).toBe(START + 365 * DAY);
  });

  it.each(['tidegate-webhook.tidegate-system.svc', '127.0.0.1'])('is accepted for %s', async (host) => {
    const now = Date.now();
    const authorities = [...renewed([], now), ...renewed([], now - 1000)];
    for (const signer of authorities) {
      const { certificate, key } = newServing(signer, [host], now);
      const server = createServer({ cert: certificate, key }, (socket) => socket.end());
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      // `servername` may be no address; without it the host itself is checked.
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
