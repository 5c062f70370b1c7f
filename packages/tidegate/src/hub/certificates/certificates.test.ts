import { X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { silentLogger } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import { VirtualClock } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CertificateFiles } from './certificate-files.ts';
import { RenewedCertificate, type RenewedCertificateOptions } from './renewed-certificate.ts';
import { TestAuthority } from './testing/authority.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const NODE = 'system:node:n1';

let directory: string;
let clock: VirtualClock;
const authority = new TestAuthority();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
  clock = new VirtualClock();
});
afterEach(() => rm(directory, { recursive: true }));

const namesIn = ({ certificate }: KeyPair): string => new X509Certificate(certificate).subjectAltName ?? '';

describe('a certificate that the cluster signs', () => {
  let stop: AbortController;
  let wanted: string;
  let asked: number;
  let failure: Error | undefined;

  beforeEach(() => {
    stop = new AbortController();
    wanted = 'a.example';
    asked = 0;
    failure = undefined;
  });

  const open = (options: Partial<RenewedCertificateOptions> = {}): Promise<RenewedCertificate> =>
    RenewedCertificate.open({
      what: 'serving certificate',
      file: join(directory, 'pair.pem'),
      commonName: NODE,
      obtain: async () => {
        asked++;
        if (failure !== undefined) throw failure;
        const [notBefore, notAfter] = [clock.now(), clock.now() + 10 * DAY];
        return authority.issue({ commonName: NODE, names: [wanted], notBefore, notAfter });
      },
      fits: async (certificate) => certificate.checkHost(wanted) !== undefined,
      clock,
      random: () => 0.5,
      log: silentLogger,
      ...options,
    });
  /** Runs the renewal loop while `during` runs. */
  async function running(certificate: RenewedCertificate, during: () => Promise<void>): Promise<void> {
    const ended = certificate.run(stop.signal);
    await clock.advance(0);
    await during();
    stop.abort();
    await ended;
    expect(clock.pending).toBe(0);
    stop = new AbortController();
  }

  it('is used while the disk is full, and stored without another request when there is space', async () => {
    const disk = await smallDisk();
    const file = join(disk.directory, 'pair.pem');
    disk.fill();
    const certificate = await open({ file });
    await running(certificate, async () => {
      expect(certificate.waitingFor).toBeUndefined();
      expect(existsSync(file)).toBe(false);
      disk.free();
      await clock.advance(HOUR);
      expect(existsSync(file)).toBe(true);
      expect(asked).toBe(1);
    });
  });

  it('is available after the approval, and reports until then what it waits for', async () => {
    let approve = (_: KeyPair): void => {};
    const approved = new Promise<KeyPair>((resolve) => {
      approve = resolve;
    });
    const certificate = await open({ obtain: () => approved });
    expect(certificate.waitingFor).toBe('the hub has no serving certificate yet');
    await running(certificate, async () => {
      expect(certificate.current).toBeUndefined();
      expect(certificate.waitingFor).toMatch(/not approved yet/);
      const pair = authority.issue({ commonName: NODE, names: [wanted] });
      const received: KeyPair[] = [];
      certificate.onChange((next) => received.push(next));
      approve(pair);
      await clock.advance(0);
      expect(received).toEqual([pair]);
      expect(certificate).toMatchObject({ current: pair, waitingFor: undefined });
    });
    expect((await stat(join(directory, 'pair.pem'))).mode & 0o777).toBe(0o600);
    expect((await open()).current).toEqual(certificate.current);
  });

  it('is renewed between 70 and 90 % of its lifetime, and stays in use if the renewal fails', async () => {
    const certificate = await open();
    await running(certificate, async () => {
      const first = certificate.current;
      await clock.advance(7.9 * DAY);
      expect(asked).toBe(1);
      failure = new Error('no link');
      await clock.advance(4 * HOUR);
      expect(asked).toBeGreaterThan(2);
      expect(certificate.current).toBe(first);
      expect(certificate.waitingFor).toBeUndefined();
      await clock.advance(2 * DAY);
      expect(certificate.waitingFor).toBe('cannot obtain the serving certificate: no link');
      failure = undefined;
      certificate.checkNow();
      await clock.advance(0);
      expect(certificate.current).not.toBe(first);
      expect(certificate.waitingFor).toBeUndefined();
    });
  });

  it('is requested again when other names are needed', async () => {
    const certificate = await open();
    await running(certificate, async () => {
      wanted = 'b.example';
      certificate.checkNow();
      await clock.advance(0);
      expect(namesIn(certificate.current!)).toBe('DNS:b.example');
      wanted = 'c.example';
      await clock.advance(HOUR);
      expect(namesIn(certificate.current!)).toBe('DNS:c.example');
      expect(asked).toBe(3);
    });
  });

  it('is loaded from disk, and does not change if the needed names are unknown', async () => {
    await running(await open(), async () => {});
    const fits = (): Promise<boolean> => Promise.reject(new Error('no link'));
    const certificate = await open({ fits });
    await running(certificate, () => clock.advance(DAY));
    expect(asked).toBe(1);
    expect(certificate.current).toBeDefined();
  });

  it('is not loaded from disk if it is expired, damaged, or for another node', async () => {
    await running(await open(), async () => {});
    expect((await open({ commonName: 'system:node:n2' })).current).toBeUndefined();
    await clock.advance(11 * DAY);
    expect((await open()).current).toBeUndefined();
    clock = new VirtualClock();
    expect((await open()).current).toBeDefined();
    const other = authority.issue({ commonName: NODE });
    for (const text of ['', 'x', `${other.key}${authority.issue({ commonName: NODE }).certificate}`]) {
      await writeFile(join(directory, 'pair.pem'), text);
      expect((await open()).current).toBeUndefined();
    }
  });

  it('is not requested all the time if the clock is wrong', async () => {
    const expired = authority.issue({ commonName: NODE, names: [wanted], notAfter: clock.now() - DAY });
    const certificate = await open({
      obtain: async () => {
        asked++;
        return expired;
      },
    });
    await running(certificate, () => clock.advance(HOUR));
    expect(asked).toBeLessThan(70);
  });
});

describe('a certificate in files', () => {
  const warnings: string[] = [];

  const files = (): { certFile: string; keyFile: string } => ({
    certFile: join(directory, 'tls.crt'),
    keyFile: join(directory, 'tls.key'),
  });
  const open = (): Promise<CertificateFiles> =>
    CertificateFiles.open({
      ...files(),
      clock,
      log: { ...silentLogger, warn: (_, text) => warnings.push(text) },
    });
  async function write({ certificate, key }: KeyPair): Promise<void> {
    await writeFile(files().certFile, certificate);
    await writeFile(files().keyFile, key);
  }

  it('is loaded again after a change, but not while only one file has changed', async () => {
    const [first, second] = [authority.issue({ commonName: 'a' }), authority.issue({ commonName: 'b' })];
    await write(first);
    const certificate = await open();
    const received: KeyPair[] = [];
    certificate.onChange((pair) => received.push(pair));
    const stop = new AbortController();
    const running = certificate.run(stop.signal);
    const pollUntil = async (condition: () => boolean): Promise<void> => {
      while (!condition()) await clock.advance(10_000);
    };
    await writeFile(files().certFile, second.certificate);
    await pollUntil(() => warnings.length > 0);
    expect(warnings).toEqual(['cannot use the serving certificate on disk; keeping the previous one']);
    expect(certificate.current).toEqual(first);
    await writeFile(files().keyFile, second.key);
    await pollUntil(() => received.length > 0);
    expect(received).toEqual([second]);
    expect(certificate.current).toEqual(second);
    stop.abort();
    await running;
  });

  it('reports that it has expired', async () => {
    await write(authority.issue({ commonName: 'a', notAfter: clock.now() + DAY }));
    const certificate = await open();
    expect(certificate.waitingFor).toBeUndefined();
    await clock.advance(2 * DAY);
    expect(certificate.waitingFor).toMatch(/^the certificate in --tls-cert-file .* has expired/);
  });

  it('must exist at start; the error names the flag', async () => {
    await expect(open()).rejects.toThrow(/^--tls-cert-file: ENOENT/);
    await write({ ...authority.issue({ commonName: 'a' }), key: 'x' });
    await expect(open()).rejects.toThrow(/^--tls-cert-file .* and --tls-private-key-file /);
  });
});
