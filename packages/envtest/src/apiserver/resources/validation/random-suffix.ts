/** No vowels and no ambiguous characters, so that the suffix never forms a word. As in apimachinery's util/rand. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
export const SUFFIX_LENGTH = 5;

/** The suffix that makes a generated name unique. `random(n)` returns an integer from 0 to n - 1. */
export const randomSuffix = (random: (limit: number) => number): string =>
  Array.from({ length: SUFFIX_LENGTH }, () => ALPHABET[random(ALPHABET.length)]).join('');
