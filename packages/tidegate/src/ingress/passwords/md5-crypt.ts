import { createHash } from 'node:crypto';

const DIGITS = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const ROUNDS = 1_000;

const md5 = (...parts: (Buffer | string)[]): Buffer => {
  const hash = createHash('md5');
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** The hash of Apache (`$apr1$`) or of Unix (`$1$`), which differ only in their prefix. */
export function md5Crypt(text: string, hash: string): string {
  const [, prefix = '', salt = ''] = /^(\$(?:apr1|1)\$)([^$]{1,8})/.exec(hash) ?? [];
  const password = Buffer.from(text);
  const inner = md5(password, salt, password);
  const parts: (Buffer | string)[] = [password, prefix, salt];
  for (let left = password.length; left > 0; left -= 16) parts.push(inner.subarray(0, Math.min(16, left)));
  // For each bit of the length: a NUL or the first byte of the password.
  for (let bits = password.length; bits > 0; bits >>= 1)
    parts.push((bits & 1) === 1 ? Buffer.of(0) : password.subarray(0, 1));
  let digest = md5(...parts);
  for (let round = 0; round < ROUNDS; round++) {
    const isOdd = round % 2 === 1;
    digest = md5(
      isOdd ? password : digest,
      round % 3 === 0 ? '' : salt,
      round % 7 === 0 ? '' : password,
      isOdd ? digest : password,
    );
  }
  return `${prefix}${salt}$${encoded(digest)}`;
}

/** The bytes of the digest in the order in which three of them become four characters. */
const GROUPS = [
  [0, 6, 12],
  [1, 7, 13],
  [2, 8, 14],
  [3, 9, 15],
  [4, 10, 5],
] as const;

function encoded(digest: Buffer): string {
  const characters = (value: number, count: number): string =>
    Array.from({ length: count }, (_, at) => DIGITS[(value >> (6 * at)) & 63]).join('');
  const groups = GROUPS.map(([a, b, c]) =>
    characters((digest[a]! << 16) | (digest[b]! << 8) | digest[c]!, 4),
  );
  return groups.join('') + characters(digest[11]!, 2);
}
