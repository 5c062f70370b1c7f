import { expect, it } from 'vitest';
import { TestAuthority } from '../testing/certificates.ts';
import { readClientPair } from './client-pair.ts';

const authority = new TestAuthority();
const { certificate, key } = authority.issue(['a.io']);
const of = (keys: Record<string, string>, needsAuthorities = false) =>
  readClientPair(
    Object.fromEntries(
      Object.entries(keys).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
    ),
    needsAuthorities,
  );

it('reads a certificate, authorities, or both', () => {
  const pair = { 'tls.crt': certificate, 'tls.key': key };
  expect(of(pair)).toEqual({ certificate, key });
  expect(of({ 'ca.crt': authority.certificate }, true)).toEqual({ authorities: authority.certificate });
  expect(of({ ...pair, 'ca.crt': authority.certificate }, true)).toEqual({
    ...{ certificate, key, authorities: authority.certificate },
  });
});

it.each([
  [{}, false, 'neither'],
  [{ 'tls.crt': certificate }, false, 'must have both'],
  [{ 'tls.key': key, 'ca.crt': authority.certificate }, false, 'must have both'],
  [{ 'tls.crt': certificate, 'tls.key': key }, true, 'ca.crt'],
  [{ 'tls.crt': certificate, 'tls.key': authority.issue(['b.io']).key }, false, 'cannot be used together'],
  [{ 'ca.crt': 'x' }, true, 'ca.crt cannot be read'],
])('refuses what cannot be used (%#)', (keys, needsAuthorities, message) => {
  expect(() => of(keys as Record<string, string>, needsAuthorities)).toThrow(message);
});
