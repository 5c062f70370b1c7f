import { createHash } from 'node:crypto';

const HASH_LENGTH = 8;

/** The first characters of a SHA-256 in hex. Short enough for names, long enough to tell the names of one cluster apart. */
export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH);

/** What decides the names of an edition. */
export interface Naming {
  readonly edition: string;
  /** Names that were chosen by the author, by the name in the template. */
  readonly names?: Readonly<Record<string, string>>;
}

/** The name of an object in an edition. */
export const nameIn = ({ edition, names = {} }: Naming, name: string, longest: number): string =>
  Object.hasOwn(names, name) ? names[name]! : editionName(name, edition, longest);

/** Returns `<name>-<edition>`. If that is too long, a hash of the full name replaces its end, so names stay distinct. */
function editionName(name: string, edition: string, longest: number): string {
  const whole = `${name}-${edition}`;
  if (whole.length <= longest) return whole;
  const kept = whole.slice(0, longest - HASH_LENGTH - 1).replace(/[-.]+$/, '');
  return `${kept}-${shortHash(whole)}`;
}
