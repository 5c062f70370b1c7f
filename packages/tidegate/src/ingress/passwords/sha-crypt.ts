import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';

const DIGITS = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const DEFAULT_ROUNDS = 5_000;
/** After this many rounds, other requests have their turn. They take about a millisecond. */
const ROUNDS_AT_ONCE = 250;

/** How many rounds a hash of this kind asks for. */
export const shaRounds = (hash: string): number =>
  Number(/\$rounds=([0-9]+)\$/.exec(hash)?.[1] ?? DEFAULT_ROUNDS);

/** The hash of Unix with SHA-256 (`$5$`) or SHA-512 (`$6$`). It takes long, and lets other requests run in between. */
export async function shaCrypt(text: string, hash: string): Promise<string> {
  const [, head = '', kind = '', salt = ''] =
    /^(\$([56])\$(?:rounds=[0-9]+\$)?)([^$]{1,16})/.exec(hash) ?? [];
  const algorithm = kind === '5' ? 'sha256' : 'sha512';
  const digestOf = (...parts: (Buffer | string)[]): Buffer => {
    const digest = createHash(algorithm);
    for (const part of parts) digest.update(part);
    return digest.digest();
  };
  const password = Buffer.from(text);
  const { length } = password;
  const inner = digestOf(password, salt, password);
  const parts: (Buffer | string)[] = [password, salt, filled(inner, length)];
  for (let bits = length; bits > 0; bits >>= 1) parts.push((bits & 1) === 1 ? inner : password);
  let digest = digestOf(...parts);
  const p = filled(digestOf(...Array<Buffer>(length).fill(password)), length);
  const s = filled(digestOf(...Array<string>(16 + digest[0]!).fill(salt)), salt.length);
  const rounds = shaRounds(hash);
  for (let round = 0; round < rounds; round++) {
    const isOdd = round % 2 === 1;
    digest = digestOf(
      isOdd ? p : digest,
      round % 3 === 0 ? '' : s,
      round % 7 === 0 ? '' : p,
      isOdd ? digest : p,
    );
    if (round % ROUNDS_AT_ONCE === ROUNDS_AT_ONCE - 1) await setImmediate();
  }
  return `${head}${salt}$${encoded(digest)}`;
}

/** The bytes, repeated up to a length. */
const filled = (bytes: Buffer, length: number): Buffer => Buffer.alloc(length, bytes);

/** Three bytes become four characters, in an order that walks through three equal parts of the digest. */
function encoded(digest: Buffer): string {
  const isLong = digest.length === 64;
  const third = Math.floor(digest.length / 3);
  let [a, b, c] = [0, third, 2 * third];
  let text = '';
  for (let group = 0; group < third; group++) {
    text += characters((digest[a]! << 16) | (digest[b]! << 8) | digest[c]!, 4);
    [a, b, c] = isLong ? [b + 1, c + 1, a + 1] : [c + 1, a + 1, b + 1];
  }
  return text + (isLong ? characters(digest[63]!, 2) : characters((digest[31]! << 8) | digest[30]!, 3));
}

const characters = (value: number, count: number): string =>
  Array.from({ length: count }, (_, at) => DIGITS[(value >> (6 * at)) & 63]).join('');
