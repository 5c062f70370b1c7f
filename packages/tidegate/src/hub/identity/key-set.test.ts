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

describe('a key set', async () => {
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
  const keys = await KeySet.open(jwks);

  it.each(Object.keys(pairs) as (keyof typeof pairs)[])(
    'verifies %s, with and without a key id',
    async (alg) => {
      expect(await keys.hasSigned(tokenBy(pairs[alg].privateKey, alg, `key-${alg}`))).toBe(true);
      expect(await keys.hasSigned(tokenBy(pairs[alg].privateKey, alg))).toBe(true);
    },
  );

  it('rejects other keys, other algorithms and changed content', async () => {
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    expect(await keys.hasSigned(tokenBy(stranger, 'ES256', 'key-ES256'))).toBe(false);
    expect(await keys.hasSigned(tokenBy(stranger, 'ES256'))).toBe(false);
    expect(await keys.hasSigned(tokenBy(pairs.RS256.privateKey, 'RS512', 'key-RS256'))).toBe(false);
    const [, claims, signature] = tokenBy(pairs.ES256.privateKey, 'ES256', 'key-ES256').split('.');
    for (const alg of ['none', 'HS256', 'ES384', '__proto__'])
      expect(await keys.hasSigned(`${encode({ alg, kid: 'key-ES256' })}.${claims}.${signature}`)).toBe(false);
    const head = encode({ alg: 'ES256', kid: 'key-ES256' });
    expect(await keys.hasSigned(`${head}.${encode({ sub: 'y' })}.${signature}`)).toBe(false);
    expect(await keys.hasSigned(`${head}.${claims}.`)).toBe(false);
  });

  it('rejects a token with padding or with more than three parts', async () => {
    const token = tokenBy(pairs.ES256.privateKey, 'ES256', 'key-ES256');
    for (const other of [`${token}=`, token.replace('.', '=.'), `${token}.`])
      expect(await keys.hasSigned(other), JSON.stringify(other.slice(token.length))).toBe(false);
  });

  it('distinguishes an unknown key from a bad signature', () => {
    expect(keys.knows(tokenBy(pairs.ES256.privateKey, 'ES256', 'other'))).toBe(false);
    expect(keys.knows(tokenBy(pairs.ES256.privateKey, 'ES256', 'key-ES256'))).toBe(true);
    expect(keys.knows('opaque')).toBe(false);
  });

  it('ignores keys for other purposes, and rejects documents that are not a key set', async () => {
    const [first] = jwks.keys;
    const others = await KeySet.open({
      keys: [
        { ...first, use: 'enc' },
        { kty: 'oct', kid: 'a' },
      ],
    });
    expect(others.knows(tokenBy(pairs.ES256.privateKey, 'ES256'))).toBe(false);
    await expect(KeySet.open('no')).rejects.toThrow('has no list of keys');
  });
});
