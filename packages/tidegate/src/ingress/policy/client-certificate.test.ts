import { describe, expect, it } from 'vitest';
import { describePolicy, readPolicies, subjectMatches } from './index.ts';

const read = (annotations: Record<string, string>) =>
  readPolicies(new Map(Object.entries(annotations)), { namespace: 'shop', name: 'web' });

describe('annotations about client certificates', () => {
  it('name a Secret of the namespace, with the defaults of ingress-nginx', () => {
    const expected = { credentials: 'shop/ca#ca', verify: 'on', depth: 1 };
    for (const name of ['ca', 'shop/ca'])
      expect(read({ 'auth-tls-secret': name }).route).toEqual({ clientCertificate: expected });
  });

  it.each([
    ['optional_no_ca', 'asks for a client certificate of any authority, or none'],
    ['optional', 'asks for a client certificate of an authority in Secret shop/ca, or none'],
    ['off', 'does not ask for client certificates'],
  ])('with verify-client %s: %s', (verify, text) => {
    const { route, invalid } = read({ 'auth-tls-secret': 'ca', 'auth-tls-verify-client': verify });
    expect({ invalid, text: describePolicy(route!) }).toEqual({ invalid: [], text: [text] });
  });

  it.each([
    ['auth-tls-secret', 'other/ca'],
    ['auth-tls-secret', ''],
    ['auth-tls-secret', 'ca#map'],
    ['auth-tls-verify-client', 'ON'],
    ['auth-tls-verify-depth', '21'],
    ['auth-tls-verify-depth', '-1'],
    ['auth-tls-error-page', '/login'],
    ['auth-tls-error-page', 'https://$host/'],
    ['auth-tls-pass-certificate-to-upstream', 'on'],
    ['auth-tls-match-cn', 'ann'],
    ['auth-tls-match-cn', 'CN=(a)\\1'],
  ])('close the hosts with the value %s: %j', (name, value) => {
    const { invalid } = read({ 'auth-tls-secret': 'ca', [name]: value });
    expect(invalid).toMatchObject([{ name, effect: 'closesHosts' }]);
  });

  it('close the hosts without a Secret, unless they ask for nothing', () => {
    expect(read({ 'auth-tls-verify-client': 'on' }).invalid).toHaveLength(1);
    expect(read({ 'auth-tls-match-cn': 'CN=ann' }).invalid).toHaveLength(1);
    const harmless = { 'auth-tls-verify-client': 'off', 'auth-tls-pass-certificate-to-upstream': 'false' };
    expect(read(harmless)).toMatchObject({ route: undefined, invalid: [] });
  });
});

it.each([
  ['CN=ann', 'CN=ann,O=Shop', true],
  ['CN=ann', 'CN=anna', true],
  ['CN=ann(,|$)', 'CN=anna', false],
  ['CN=ann', 'O=Shop,CN=ann', true],
  ['CN=ann', 'O=Shop+CN=ann', true],
  ['CN=ann', 'O=CN=ann,CN=bob', false],
  ['CN=ann', 'O=x\\,CN=ann,CN=bob', false],
  ['CN=a|b', 'CN=b', false],
  ['CN=ann', '', false],
])('%s and the subject %j: %s', (pattern, subject, expected) => {
  const { clientCertificate } = read({ 'auth-tls-secret': 'ca', 'auth-tls-match-cn': pattern }).route!;
  expect(subjectMatches(clientCertificate!.subject!, subject)).toBe(expected);
});
