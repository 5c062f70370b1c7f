import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defaultCertificate } from './default-certificate.ts';

const YEAR_MS = 365 * 24 * 3_600_000;
const NOW = Date.UTC(2030, 0, 1);

describe('the default certificate', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'tidegate-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('is created once, stored, and readable by this user only', () => {
    const made = defaultCertificate(directory, NOW);
    expect(defaultCertificate(directory, NOW + YEAR_MS)).toEqual(made);
    expect(statSync(made.path).mode & 0o777).toBe(0o600);
  });

  it('is renewed before it expires', () => {
    const made = defaultCertificate(directory, NOW);
    expect(defaultCertificate(directory, NOW + 10 * YEAR_MS).certificate).not.toBe(made.certificate);
  });

  it('is created again if the file holds something else', () => {
    const { path } = defaultCertificate(directory, NOW);
    for (const wrong of ['', 'no certificate', '-----BEGIN PRIVATE KEY-----']) {
      writeFileSync(path, wrong);
      expect(new X509Certificate(defaultCertificate(directory, NOW).certificate).ca).toBe(false);
    }
  });
});
