import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { KeySet } from './key-set.ts';

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function tokenBy(privateKey: KeyObject, alg: string, kid?: string): string {
  const text = `${encode({ alg, kid })}.${encode({ sub: 'x' })}`;
  const hash = `sha${alg.slice(2)}`;
  const signature = sign(hash, Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

describe('a key set', () => {
  const pairs = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  };
  const jwks = {
    keys: Object.entries(pairs).map(([alg, { publicKey }]) => ({
      ...publicKey.export({ format: 'jwk' }),
      alg,
      kid: `key-${alg}`,
      use: 'sig',
    })),
  };
  const keys = new KeySet(jwks);

  it.each(Object.keys(pairs) as (keyof typeof pairs)[])('verifies %s, with and without a key id', (alg) => {
    expect(keys.verifies(tokenBy(pairs[alg].privateKey, alg, `key-${alg}`))).toBe(true);
    expect(keys.verifies(tokenBy(pairs[alg].privateKey, alg))).toBe(true);
  });

  it('believes no other key, no other algorithm, and no changed text', () => {
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    expect(keys.verifies(tokenBy(stranger, 'ES256', 'key-ES256'))).toBe(false);
    expect(keys.verifies(tokenBy(stranger, 'ES256'))).toBe(false);
    expect(keys.verifies(tokenBy(pairs.RS256.privateKey, 'RS512', 'key-RS256'))).toBe(false);
    const [, claims, signature] = tokenBy(pairs.ES256.privateKey, 'ES256', 'key-ES256').split('.');
    for (const alg of ['none', 'HS256', 'ES384', '__proto__'])
      expect(keys.verifies(`${encode({ alg, kid: 'key-ES256' })}.${claims}.${signature}`)).toBe(false);
    const head = encode({ alg: 'ES256', kid: 'key-ES256' });
    expect(keys.verifies(`${head}.${encode({ sub: 'y' })}.${signature}`)).toBe(false);
    expect(keys.verifies(`${head}.${claims}.`)).toBe(false);
  });

  it('tells a key that it does not know from a bad signature', () => {
    expect(keys.knows(tokenBy(pairs.ES256.privateKey, 'ES256', 'other'))).toBe(false);
    expect(keys.knows(tokenBy(pairs.ES256.privateKey, 'ES256', 'key-ES256'))).toBe(true);
    expect(keys.knows('opaque')).toBe(false);
  });

  it('passes over keys for other purposes, and refuses what is no key set', () => {
    const [first] = jwks.keys;
    const others = new KeySet({
      keys: [
        { ...first, use: 'enc' },
        { kty: 'oct', kid: 'a' },
      ],
    });
    expect(others.knows(tokenBy(pairs.ES256.privateKey, 'ES256'))).toBe(false);
    expect(() => new KeySet('no')).toThrow('has no list of keys');
  });
});
