import { describe, expect, it } from 'vitest';
import { TestAuthority } from '../testing/certificates.ts';
import { ingress } from '../testing/objects.ts';
import { readAuthorities } from './authorities.ts';
import { Compiler } from './compiler.ts';

const [one, two] = [new TestAuthority(), new TestAuthority()];
const of = (keys: Record<string, string>) =>
  readAuthorities(
    Object.fromEntries(
      Object.entries(keys).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
    ),
  );

describe('the authorities of a Secret', () => {
  it('are all certificates of ca.crt, without what is between them', () => {
    const text = `first\r\n${one.certificate.replaceAll('\n', '\r\n')}second\n${two.certificate}`;
    expect(of({ 'ca.crt': text })).toEqual({ certificates: [one.certificate, two.certificate], revoked: [] });
  });

  it.each([
    [{}, 'its key ca.crt has no certificate in PEM'],
    [{ 'ca.crt': one.issue(['a.io']).key }, 'its key ca.crt has a block "PRIVATE KEY", not CERTIFICATE'],
    [{ 'ca.crt': one.certificate.slice(0, -20) }, 'that is not complete'],
    [
      { 'ca.crt': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n' },
      'certificate 1 of its key ca.crt cannot be read',
    ],
    [{ 'ca.crt': one.certificate.repeat(201) }, 'more than 200 certificates'],
    [{ 'ca.crt': one.certificate, 'ca.crl': '' }, 'its key ca.crl has no list'],
    [
      { 'ca.crt': one.certificate, 'ca.crl': '-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n' },
      'list 1 of its key ca.crl cannot be read',
    ],
  ])('are refused as a whole if anything cannot be read (%#)', (keys, message) => {
    expect(() => of(keys as Record<string, string>)).toThrow(message);
  });
});

describe('Ingresses of a host with client certificates of two Secrets', () => {
  const problemsOf = (annotations: Record<string, string>, host = 'a.io') => {
    const compiler = new Compiler({ classNames: ['gold'], isOurs: () => true, now: () => 0 });
    const prefixed = (all: Record<string, string>) =>
      Object.fromEntries(
        Object.entries(all).map(([name, value]) => [`nginx.ingress.kubernetes.io/${name}`, value]),
      );
    const first = { 'auth-tls-secret': 'first' };
    compiler.put(
      'Ingress',
      ingress({ name: 'old', age: 9, rules: { 'a.io/a': 'web:80' }, annotations: prefixed(first) }),
    );
    compiler.put(
      'Ingress',
      ingress({ name: 'new', rules: { [`${host}/b`]: 'web:80' }, annotations: prefixed(annotations) }),
    );
    const { outcomes } = compiler.flush();
    return outcomes.set.flatMap(({ ingress: key, problems }) =>
      problems
        .filter(({ reason }) => reason === 'AuthoritiesConflict')
        .map(({ message }) => `${key}: ${message}`),
    );
  };

  it('are reported on the younger one', () => {
    expect(problemsOf({ 'auth-tls-secret': 'second' })).toEqual([
      expect.stringMatching(
        /^shop\/new: .*Secret shop\/first, and this Ingress of Secret shop\/second.* 421/,
      ),
    ]);
  });

  it('are not reported for the same Secret, another host, or if clients are not asked', () => {
    expect(problemsOf({ 'auth-tls-secret': 'shop/first', 'auth-tls-verify-depth': '2' })).toEqual([]);
    expect(problemsOf({ 'auth-tls-secret': 'second' }, 'b.io')).toEqual([]);
    expect(problemsOf({ 'auth-tls-secret': 'second', 'auth-tls-verify-client': 'off' })).toEqual([]);
  });
});
