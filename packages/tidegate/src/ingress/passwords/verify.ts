import { createHash, timingSafeEqual } from 'node:crypto';
import { compare } from 'bcryptjs';
import { isKnownHash } from './formats.ts';
import { md5Crypt } from './md5-crypt.ts';
import { shaCrypt, shaRounds } from './sha-crypt.ts';

/**
 * Whether the hash is one of this password. False for a hash of an unknown kind. Expensive hashes are computed in parts, so that
 * other requests do not wait for them.
 */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  if (!isKnownHash(hash)) return false;
  if (hash.startsWith('$2')) return compare(password, hash);
  if (hash.startsWith('{SHA}')) return isSame(sha1(password), Buffer.from(hash.slice(5), 'base64'));
  if (hash.startsWith('{SSHA}')) {
    const bytes = Buffer.from(hash.slice(6), 'base64');
    return isSame(sha1(password, bytes.subarray(SHA1_BYTES)), bytes.subarray(0, SHA1_BYTES));
  }
  const isSha = hash.startsWith('$5$') || hash.startsWith('$6$');
  const computed = isSha ? await shaCrypt(password, hash) : md5Crypt(password, hash);
  return isSame(Buffer.from(computed), Buffer.from(hash));
}

/** About how many milliseconds of CPU time a check takes. */
export function costOf(hash: string, length: number): number {
  const [, bcrypt] = /^\$2[aby]\$([0-9]{2})/.exec(hash) ?? [];
  if (bcrypt !== undefined) return 2 ** Number(bcrypt) * 0.06;
  // Each round reads the password twice.
  const round = 0.004 + length * 0.000_008;
  if (hash.startsWith('$5$') || hash.startsWith('$6$')) return shaRounds(hash) * round;
  return hash.startsWith('{') ? 0.05 : 1_000 * round;
}

const SHA1_BYTES = 20;

const sha1 = (password: string, salt: Buffer = Buffer.alloc(0)): Buffer =>
  createHash('sha1').update(password).update(salt).digest();

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b);
