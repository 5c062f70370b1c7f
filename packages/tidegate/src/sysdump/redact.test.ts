import { describe, expect, it } from 'vitest';
import { REDACTED, redactObject, redactText } from './redact.ts';

describe('a text', () => {
  it.each([
    ['Authorization: Bearer abcdefgh12345678', 'abcdefgh12345678'],
    ['token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW0ifQ.c2lnbmF0dXJl used', 'eyJhbGci'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----', 'MIIEow'],
    ['-----BEGIN PRIVATE KEY-----\nMIIEow (cut)', 'MIIEow'],
    ['joined with abcdef.0123456789abcdef', '0123456789abcdef'],
    ['proxy http://anna:hunter22@proxy.example:3128', 'hunter22'],
    ['{"password":"hunter22"}', 'hunter22'],
    ['DB_PASSWORD=hunter22', 'hunter22'],
  ])('%j loses its secret', (text, secret) => {
    expect(redactText(text)).not.toContain(secret);
    expect(redactText(text)).toContain(REDACTED);
  });

  it('keeps what is not secret', () => {
    const text = 'L7Router shop: pods tidegate-router-shop-6f7d8-x2x4z are not ready';
    expect(redactText(text)).toBe(text);
  });
});

describe('an object', () => {
  it('loses environment variables, arguments, and Secrets that are inside of others', () => {
    const object = {
      kind: 'EdgeApplication',
      metadata: { name: 'shop', managedFields: [1] },
      spec: {
        manifests: [
          { kind: 'Secret', data: { pin: 'MTIzNA==' }, stringData: { pin: '1234' } },
          {
            kind: 'Pod',
            spec: { containers: [{ args: ['--pin', '1234'], env: [{ name: 'A', value: '1234' }] }] },
          },
        ],
      },
    };
    const text = JSON.stringify(redactObject(object));
    expect(text).not.toMatch(/1234|MTIzNA/);
    expect(text).not.toContain('managedFields');
    expect(text).toContain('"name":"shop"');
  });

  it('keeps the arguments of Tidegate itself', () => {
    expect(JSON.stringify(redactObject({ args: ['manager', '--parts=apps'] }, true))).toContain(
      '--parts=apps',
    );
  });
});
