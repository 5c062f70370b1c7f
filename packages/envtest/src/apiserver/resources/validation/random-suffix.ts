/** Without vowels and look-alikes, so that no word comes out. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
export const SUFFIX_LENGTH = 5;

/** What the server puts behind a name to make it one of its own. `random(n)` draws from 0 to n - 1. */
export const randomSuffix = (random: (limit: number) => number): string =>
  Array.from({ length: SUFFIX_LENGTH }, () => ALPHABET[random(ALPHABET.length)]).join('');
