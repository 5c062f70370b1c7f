import { createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { applyDelta, certificateFor, EMPTY_TABLE } from '../match/index.ts';
import { TestAuthority } from '../testing/certificates.ts';
import { CLASS, hostClaim, ingress, secret } from '../testing/objects.ts';
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

/** The Secret that is used for each host, and the reasons of problems about certificates and hosts. */
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

describe('readTlsSecret with a valid Secret', () => {
  test('serializes the parsed certificates and drops other text', () => {
    const read = readTlsSecret(
      secret('cert', { ...forWildcard, certificate: `# a comment; }\n${forWildcard.certificate}\n-- rest` }),
    );
    expect(read.certificate).toBe(forWildcard.certificate);
    expect([...read.names]).toEqual(['*.example.com', 'example.com']);
    expect(read.secret).toBe('shop/cert');
    expect(read.fingerprint).toBe(readTlsSecret(secret('other', forWildcard)).fingerprint);
  });
});

describe('readTlsSecret with an invalid Secret', () => {
  test.each([['Opaque'], [undefined]])('refuses the type %s, as the manager does', (type) => {
    expect(() => readTlsSecret({ ...secret('cert', forA), type })).toThrow(
      'type is Opaque, not kubernetes.io/tls; a type cannot be changed',
    );
  });

  const rsa = (modulusLength: number): string =>
    generateKeyPairSync('rsa', { modulusLength })
      .privateKey.export({ type: 'pkcs1', format: 'pem' })
      .toString();

  /** A key of this size whose numbers do not fit together: unlike a real one, it costs nothing to create. */
  const damagedRsa = (bits: number): string => {
    const number = (size: number): string => {
      const bytes = randomBytes(size / 8);
      bytes[0]! |= 0x80;
      bytes[bytes.length - 1]! |= 1;
      return bytes.toString('base64url');
    };
    const [n, d] = [number(bits), number(bits)];
    const [p, q, dp, dq, qi] = [1, 2, 3, 4, 5].map(() => number(bits / 2));
    const key = createPrivateKey({
      key: { kty: 'RSA', e: 'AQAB', n, d, p, q, dp, dq, qi },
      format: 'jwk',
    });
    return key.export({ type: 'pkcs1', format: 'pem' }).toString();
  };

  const forRsa = authority.issue(['a.example.com'], { rsa: true });
  const otherNumbers = (): string => {
    const jwk = createPrivateKey(forRsa.key).export({ format: 'jwk' });
    const { d, dp, dq } = createPrivateKey(rsa(2048)).export({ format: 'jwk' });
    const key = createPrivateKey({ key: { ...jwk, d, dp, dq }, format: 'jwk' });
    return key.export({ type: 'pkcs8', format: 'pem' }).toString();
  };
  const onCurve = (namedCurve: string): string =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const x25519 = (): string =>
    generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

  test.each([
    ['tls.key has 16384 bits; at most 4096 are allowed', { ...forA, key: damagedRsa(16_384) }],
    ['tls.key is damaged: its signatures are not valid', { ...forRsa, key: otherNumbers() }],
    ['tls.key has the curve secp256k1; use P-256, P-384 or P-521', { ...forA, key: onCurve('secp256k1') }],
    ['tls.key is a key of type x25519; use RSA, ECDSA or Ed25519', { ...forA, key: x25519() }],
    ['tls.crt is missing', { ...forA, certificate: '' }],
    ['tls.key is missing', { ...forA, key: '' }],
    ['tls.crt contains no PEM certificate', { ...forA, certificate: 'hello' }],
    [
      'certificate 1 in tls.crt is not valid',
      { ...forA, certificate: forA.certificate.replace(/\n\w{9}/, '\nAAAAAAAAA') },
    ],
    ['tls.key is not a PEM private key without a passphrase', { ...forA, key: 'hello' }],
    ['tls.key does not match the first certificate in tls.crt', { ...forA, key: forWildcard.key }],
    ['tls.key does not match the first certificate in tls.crt', { ...forA, key: rsa(2048) }],
    ['tls.key has 1024 bits; at least 2048 are required', { ...forA, key: rsa(1024) }],
    [
      'tls.crt is for 1001 names, more than 1000',
      authority.issue(Array.from({ length: 1_001 }, (_, i) => `h${i}.example.com`)),
    ],
    ['tls.crt contains 17 certificates, more than 16', { ...forA, certificate: forA.certificate.repeat(17) }],
  ])('reports: %s', (message, pair) => {
    expect(() => readTlsSecret(secret('cert', pair))).toThrow(new RegExp(`^${message}$`));
  });

  test('rejects other types', () => {
    const token = secret('cert', forA, { type: 'kubernetes.io/service-account-token' });
    expect(() => readTlsSecret(token)).toThrow('type is kubernetes.io/service-account-token');
  });
});

describe('certificates of hosts', () => {
  test('are used while the Secret exists, whether Secret or Ingress came first', () => {
    const compiler = newCompiler();
    compiler.put('Ingress', ingress({ rules, tls }));
    expect(shown(compiler)).toEqual({ certificates: {}, reasons: ['SecretNotFound'] });
    compiler.put('Secret', secret('cert', forA));
    expect(shown(compiler)).toEqual({ certificates: { 'a.example.com': 'shop/cert' }, reasons: [] });
    compiler.remove('Secret', 'shop/cert');
    expect(shown(compiler)).toEqual({ certificates: {}, reasons: ['SecretNotFound'] });
  });

  test('change with the Secret, and stay when the Secret becomes invalid', () => {
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
        'Secret shop/cert is invalid: tls.crt contains no PEM certificate. Its previous certificate is still used.',
    });
  });

  test('of an entry without hosts are used only for hosts that their namespace owns', () => {
    const compiler = newCompiler();
    compiler.put('Secret', secret('cert', forWildcard));
    // The certificate is valid for *.example.com and example.com, which have no owner, and for a.example.com.
    compiler.put('Ingress', ingress({ age: 9, rules, tls: [{ secretName: 'cert' }] }));
    expect(shown(compiler).certificates).toEqual({ 'a.example.com': 'shop/cert' });
    compiler.put('Ingress', ingress({ name: 'more', rules: { 'example.com/': 'web:80' } }));
    const both = { 'a.example.com': 'shop/cert', 'example.com': 'shop/cert' };
    expect(shown(compiler).certificates).toEqual(both);
    compiler.put('Ingress', ingress({ namespace: 'bank', rules: { '*.example.com/': 'web:80' } }));
    expect(shown(compiler).certificates).toEqual(both);
    compiler.remove('Ingress', 'bank/web');
    compiler.put('Ingress', ingress({ name: 'all', rules: { '*.example.com/': 'web:80' } }));
    expect(shown(compiler).certificates).toEqual({ ...both, '*.example.com': 'shop/cert' });
    compiler.put('Secret', secret('cert', forA));
    expect(shown(compiler).certificates).toEqual({ 'a.example.com': 'shop/cert' });
  });

  test('of an entry without hosts are used below a wildcard as soon as their namespace owns it', () => {
    const compiler = newCompiler();
    compiler.put('Secret', secret('cert', forA));
    compiler.put('Ingress', ingress({ tls: [{ secretName: 'cert' }] }));
    expect(shown(compiler).certificates).toEqual({});
    compiler.put('HostClaim', hostClaim('*.example.com', 'shop'));
    expect(shown(compiler).certificates).toEqual({ 'a.example.com': 'shop/cert' });
    compiler.put('HostClaim', hostClaim('*.example.com', 'bank'));
    expect(shown(compiler).certificates).toEqual({});
  });

  test('are not used for a host of another namespace', () => {
    const compiler = newCompiler();
    compiler.put('Secret', secret('cert', forA, { namespace: 'thief' }));
    compiler.put('Ingress', ingress({ rules, age: 9 }));
    compiler.put('Ingress', ingress({ namespace: 'thief', tls }));
    expect(shown(compiler)).toEqual({ certificates: {}, reasons: ['HostConflict'] });
    compiler.remove('Ingress', 'shop/web');
    expect(shown(compiler).certificates).toEqual({ 'a.example.com': 'thief/cert' });
  });

  test('come from the oldest Ingress of the namespace with a valid Secret', () => {
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

  test('that clients will reject are reported', () => {
    const compiler = newCompiler();
    compiler.put('Secret', secret('cert', forA));
    compiler.put(
      'Ingress',
      ingress({ rules, tls: [{ hosts: ['a.example.com', 'b.example.com'], secretName: 'cert' }] }),
    );
    expect(compiler.flush().outcomes.set[0]?.problems.at(-1)).toMatchObject({
      reason: 'CertificateForOtherHosts',
      message:
        'The certificate in Secret shop/cert is valid for a.example.com. Clients of b.example.com will reject it.',
    });
  });

  test('are reported before and after they expire', () => {
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

describe('certificates on a router with some of the hosts', () => {
  test('are those of its hosts, of wildcards above them, and of hosts that only tls names', () => {
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

  test('need the Secret of a wildcard as soon as a host below it is placed', () => {
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

  test('need only the Secrets of Ingresses on the router', () => {
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

test('certificateFor returns the certificate of the host, else of its wildcard, else the default', () => {
  const certificate = (host: string) => ({
    host,
    secret: host,
    certificate: 'pem',
    key: 'pem',
    fingerprint: host,
  });
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
  const withheld = { host: 'b.example.com', secret: '', certificate: '', key: '', fingerprint: '' };
  const none = { set: [], remove: [] };
  const after = applyDelta(table, {
    from: 1,
    to: 2,
    hosts: none,
    upstreams: none,
    certificates: { set: [withheld], remove: [] },
  });
  expect(certificateFor(after, 'b.example.com')).toBeUndefined();
});
