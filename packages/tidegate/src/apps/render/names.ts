import { createHash } from 'node:crypto';

const HASH_LENGTH = 8;

/** The first characters of a SHA-256 in hex. Short enough for names, long enough to tell the names of one cluster apart. */
export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);

/** Returns `<name>-<edition>`. If that is too long, a hash of the full name replaces its end, so names stay distinct. */
export function editionName(name: string, edition: string, longest: number): string {
  const whole = `${name}-${edition}`;
  if (whole.length <= longest) return whole;
  const kept = whole.slice(0, longest - HASH_LENGTH - 1).replace(/[-.]+$/, '');
  return `${kept}-${shortHash(whole)}`;
}
