import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { applyDelta, certificateFor, EMPTY_TABLE } from '../match/index.ts';
import { TestAuthority } from '../testing/certificates.ts';
import { CLASS, ingress, secret } from '../testing/objects.ts';
import { Compiler } from './index.ts';
import { readTlsSecret } from './tls-secret.ts';

const NOW = Date.parse('2026-06-01T00:00:00Z');
const authority = new TestAuthority(NOW);
const forA = authority.issue(['a.example.com']);
const forWildcard = authority.issue(['*.example.com', 'example.com'], { chain: true });

const newCompiler = (hosts?: string[], now = () => NOW): Compiler =>
  new Compiler({ classNames: [CLASS], now, ...(hosts && { hosts }) });

const rules = { 'a.example.com/': 'web:80' };
const tls = [{ hosts: ['a.example.com'], secretName: 'cert' }];

/** What is shown for which host, and what is told, of all that is about certificates and hosts. */
function shown(compiler: Compiler): { certificates: Record<string, string>; reasons: string[] } {
  const { outcomes } = compiler.flush();
  const { certificates } = compiler.snapshot();
  return {
    certificates: Object.fromEntries(certificates.set.map(({ host, secret: from }) => [host, from])),
    reasons: outcomes.set.flatMap(({ problems }) =>
      problems
        .filter(({ about, reason }) => about === 'certificates' || reason === 'HostConflict')
        .map(({ reason }) => reason),
    ),
  };
}

describe('a Secret that can be served', () => {
  test('is written anew from what was understood', () => {
    const read = readTlsSecret(
      secret('cert', { ...forWildcard, certificate: `# a comment; }\n${forWildcard.certificate}\n-- rest` }),
    );
    expect(read.certificate).toBe(forWildcard.certificate);
    expect(read.names).toEqual(['*.example.com', 'example.com']);
    expect(read.secret).toBe('shop/cert');
    expect(read.fingerprint).toBe(readTlsSecret(secret('other', forWildcard)).fingerprint);
  });

  test.each([['kubernetes.io/tls'], ['Opaque'], [undefined]])('is of type %s', (type) => {
    expect(readTlsSecret({ ...secret('cert', forA), type }).names).toEqual(['a.example.com']);
  });
});

describe('a Secret that can not be served', () => {
  const rsa = (modulusLength: number): string =>
    generateKeyPairSync('rsa', { modulusLength })
      .privateKey.export({ type: 'pkcs1', format: 'pem' })
      .toString();

  test.each([
    ['it has no tls.crt', { ...forA, certificate: '' }],
    ['it has no tls.key', { ...forA, key: '' }],
    ['tls.crt has no PEM certificate', { ...forA, certificate: 'hello' }],
    [
      'certificate 1 in tls.crt can not be read',
      { ...forA, certificate: forA.certificate.replace(/\n\w{9}/, '\nAAAAAAAAA') },
    ],
    ['tls.key is no PEM private key without a passphrase', { ...forA, key: 'hello' }],
    ['tls.key is not the key of the first certificate in tls.crt', { ...forA, key: forWildcard.key }],
    ['tls.key is not the key of the first certificate in tls.crt', { ...forA, key: rsa(2048) }],
    ['tls.key has 1024 bits, it needs 2048', { ...forA, key: rsa(1024) }],
    ['tls.crt has 17 certificates, more than 16', { ...forA, certificate: forA.certificate.repeat(17) }],
  ])('%s', (message, pair) => {
    expect(() => readTlsSecret(secret('cert', pair))).toThrow(new RegExp(`^${message}$`));
  });

  test('its type says so', () => {
    const token = secret('cert', forA, { type: 'kubernetes.io/service-account-token' });
    expect(() => readTlsSecret(token)).toThrow('its type is kubernetes.io/service-account-token');
  });
});

describe('certificates', () => {
  test('come with the Secret, whichever was first, and go with it', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', ingress({ rules, tls }));
    expect(shown(compiler)).toEqual({ certificates: {}, reasons: ['SecretNotFound'] });
    compiler.put('Secret', secret('cert', forA));
    expect(shown(compiler)).toEqual({ certificates: { 'a.example.com': 'shop/cert' }, reasons: [] });
    compiler.remove('Secret', 'shop/cert');
    expect(shown(compiler)).toEqual({ certificates: {}, reasons: ['SecretNotFound'] });
  });

  test('are replaced when the Secret is, and stay when it goes bad', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', ingress({ rules, tls }));
    compiler.put('Secret', secret('cert', forA));
    const first = compiler.flush().delta?.certificates.set[0]?.fingerprint;
    compiler.put('Secret', secret('cert', authority.issue(['a.example.com'])));
    const { delta } = compiler.flush();
    expect(delta).toMatchObject({ hosts: { set: [] }, certificates: { set: [{ host: 'a.example.com' }] } });
    expect(delta?.certificates.set[0]?.fingerprint).not.toBe(first);
    compiler.put('Secret', secret('cert', { certificate: 'x', key: 'y' }));
    const { delta: none, outcomes } = compiler.flush();
    expect(none).toBeUndefined();
    expect(outcomes.set[0]?.problems.at(-1)).toMatchObject({
      reason: 'InvalidCertificate',
      field: 'spec.tls[0].secretName',
      message:
        'Secret shop/cert can not be served: tls.crt has no PEM certificate. What it had before is still in use.',
    });
  });

  test('without hosts are for the names that they bear, as far as those are not of another namespace', () => {
    const compiler = newCompiler();
    compiler.put('Secret', secret('cert', forWildcard));
    compiler.put('Ingress', ingress({ rules, tls: [{ secretName: 'cert' }] }));
    const both = { '*.example.com': 'shop/cert', 'example.com': 'shop/cert' };
    expect(shown(compiler).certificates).toEqual(both);
    compiler.put('Ingress', ingress({ namespace: 'bank', rules: { 'example.com/': 'web:80' } }));
    expect(shown(compiler).certificates).toEqual({ '*.example.com': 'shop/cert' });
    compiler.remove('Ingress', 'bank/web');
    expect(shown(compiler).certificates).toEqual(both);
    compiler.put('Secret', secret('cert', forA));
    expect(shown(compiler).certificates).toEqual({ 'a.example.com': 'shop/cert' });
  });

  test('can not be put on the host of another namespace', () => {
    const compiler = newCompiler();
    compiler.put('Secret', secret('cert', forA, { namespace: 'thief' }));
    compiler.put('Ingress', ingress({ rules, age: 9 }));
    compiler.put('Ingress', ingress({ namespace: 'thief', tls }));
    expect(shown(compiler)).toEqual({ certificates: {}, reasons: ['HostConflict'] });
    compiler.remove('Ingress', 'shop/web');
    expect(shown(compiler).certificates).toEqual({ 'a.example.com': 'thief/cert' });
  });

  test('of one namespace: the oldest that can be served', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', ingress({ rules, tls, age: 9 }));
    compiler.put(
      'Ingress',
      ingress({ name: 'younger', tls: [{ hosts: ['a.example.com'], secretName: 'other' }] }),
    );
    compiler.put('Secret', secret('other', forA));
    expect(shown(compiler).certificates).toEqual({ 'a.example.com': 'shop/other' });
    compiler.put('Secret', secret('cert', forA));
    expect(shown(compiler)).toEqual({
      certificates: { 'a.example.com': 'shop/cert' },
      reasons: ['CertificateConflict'],
    });
  });

  test('that clients will not take are told of', () => {
    const compiler = newCompiler();
    compiler.put('Secret', secret('cert', forA));
    compiler.put(
      'Ingress',
      ingress({ rules, tls: [{ hosts: ['a.example.com', 'b.example.com'], secretName: 'cert' }] }),
    );
    expect(compiler.flush().outcomes.set[0]?.problems.at(-1)).toMatchObject({
      reason: 'CertificateForOtherHosts',
      message:
        'The certificate in Secret shop/cert is for a.example.com: clients that ask for b.example.com will not take it.',
    });
  });

  test('grow old', () => {
    let now = NOW;
    const compiler = newCompiler(undefined, () => now);
    compiler.put('Secret', secret('cert', authority.issue(['a.example.com'], { days: 90 })));
    compiler.put('Ingress', ingress({ rules, tls }));
    expect(shown(compiler).reasons).toEqual([]);
    now += 85 * 24 * 3_600_000;
    compiler.recheckCertificates();
    expect(shown(compiler).reasons).toEqual(['CertificateExpiresSoon']);
    now += 6 * 24 * 3_600_000;
    compiler.recheckCertificates();
    expect(shown(compiler)).toEqual({
      certificates: { 'a.example.com': 'shop/cert' },
      reasons: ['CertificateExpired'],
    });
  });
});

describe('on a router with some of the hosts', () => {
  test('there are the certificates of those, of wildcards above them, and of no host in particular', () => {
    const compiler = newCompiler(['a.example.com']);
    compiler.put('Secret', secret('wildcard', forWildcard));
    compiler.put('Secret', secret('cert', forA));
    compiler.put(
      'Ingress',
      ingress({
        name: 'wildcard',
        rules: { '*.example.com/': 'web:80' },
        tls: [{ hosts: ['*.example.com'], secretName: 'wildcard' }],
      }),
    );
    compiler.put(
      'Ingress',
      ingress({
        name: 'all',
        defaultBackend: 'web:80',
        tls: [{ hosts: ['b.example.org'], secretName: 'cert' }],
      }),
    );
    expect(shown(compiler).certificates).toEqual({
      '*.example.com': 'shop/wildcard',
      'b.example.org': 'shop/cert',
    });
    compiler.setServedHosts(['c.example.org']);
    expect(compiler.flush()).toMatchObject({
      delta: { certificates: { remove: ['*.example.com'] } },
      secrets: { set: [], remove: ['shop/wildcard'] },
    });
    compiler.setServedHosts(['b.example.com']);
    expect(compiler.flush()).toMatchObject({ secrets: { set: ['shop/wildcard'], remove: [] } });
    expect(shown(compiler).certificates).toHaveProperty(['*.example.com'], 'shop/wildcard');
  });

  test('a Secret that nobody has seen yet is asked for as soon as a host below its wildcard is placed', () => {
    const compiler = newCompiler([]);
    const wildcard = {
      rules: { '*.example.com/': 'web:80' },
      tls: [{ hosts: ['*.example.com'], secretName: 'cert' }],
    };
    compiler.put('Ingress', ingress(wildcard));
    expect(compiler.flush().secrets).toEqual({ set: [], remove: [] });
    compiler.setServedHosts(['a.example.com']);
    expect(compiler.flush().secrets).toEqual({ set: ['shop/cert'], remove: [] });
  });

  test('only the Secrets that are needed are asked for', () => {
    const compiler = newCompiler(['a.example.com']);
    compiler.put('Ingress', ingress({ rules, tls }));
    compiler.put('Ingress', ingress({ name: 'twin', rules, tls }));
    compiler.put(
      'Ingress',
      ingress({
        name: 'b',
        rules: { 'b.example.org/': 'web:80' },
        tls: [{ hosts: ['b.example.org'], secretName: 'b' }],
      }),
    );
    expect(compiler.flush().secrets).toEqual({ set: ['shop/cert'], remove: [] });
    compiler.remove('Ingress', 'shop/web');
    expect(compiler.flush().secrets).toEqual({ set: [], remove: [] });
    compiler.remove('Ingress', 'shop/twin');
    expect(compiler.flush().secrets).toEqual({ set: [], remove: ['shop/cert'] });
  });
});

test('a client is shown the one for its host, else for the wildcard, else the default', () => {
  const certificate = (host: string) => ({ host, secret: host, certificate: '', key: '', fingerprint: host });
  const table = applyDelta(EMPTY_TABLE, {
    from: 0,
    to: 1,
    hosts: { set: [], remove: [] },
    upstreams: { set: [], remove: [] },
    certificates: { set: ['a.example.com', '*.example.com', ''].map(certificate), remove: [] },
  });
  expect(certificateFor(table, 'a.example.com')?.host).toBe('a.example.com');
  expect(certificateFor(table, 'b.example.com')?.host).toBe('*.example.com');
  expect(certificateFor(table, 'a.b.example.com')?.host).toBe('');
  expect(certificateFor(table, '')?.host).toBe('');
});
