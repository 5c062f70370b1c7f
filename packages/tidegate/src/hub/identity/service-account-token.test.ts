import { describe, expect, it } from 'vitest';
import { isStrict } from './service-account-token.ts';
import { otherSpelling, TokenAuthority } from './testing/authority.ts';

describe('the spelling of a token', () => {
  const token = new TokenAuthority().issue({ expires: Date.now() + 3_600_000 });
  const [head = '', claims = '', signature = ''] = token.split('.');

  it('is strict as the API server writes it', () => {
    expect(isStrict(token)).toBe(true);
  });

  it('is not strict with padding, line breaks, the other alphabet, or more or fewer parts', () => {
    for (const other of [
      `${token}=`,
      `${token}==`,
      `${head}=.${claims}.${signature}`,
      `${head}.${claims}=.${signature}`,
      `${token}\n`,
      ` ${token}`,
      `${head}.${claims}.${signature.slice(0, 10)}\r\n${signature.slice(10)}`,
      `${head}.${claims}.${signature.slice(0, -1)}+`,
      `${head}.${claims}.${signature.slice(0, -1)}/`,
      `${token}.`,
      `${token}.x`,
      `${head}.${claims}.`,
      `${head}.${claims}`,
      '',
    ])
      expect([other, isStrict(other)]).toEqual([other, false]);
  });

  it('is not strict if unused bits of the last character are set', () => {
    const other = otherSpelling(token);
    const bytesOf = (text: string): Buffer => Buffer.from(text.split('.')[2] ?? '', 'base64url');
    expect(other).not.toBe(token);
    expect(bytesOf(other)).toEqual(bytesOf(token));
    expect(isStrict(other)).toBe(false);
  });
});
