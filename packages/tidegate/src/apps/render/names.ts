import { createHash } from 'node:crypto';

const HASH_LENGTH = 8;

export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);

/** `<name>-<edition>`; where that is too long its end is replaced by a hash of the whole. */
export function editionName(name: string, edition: string, longest: number): string {
  const whole = `${name}-${edition}`;
  if (whole.length <= longest) return whole;
  const kept = whole.slice(0, longest - HASH_LENGTH - 1).replace(/[-.]+$/, '');
  return `${kept}-${shortHash(whole)}`;
}
