import { createHash } from 'node:crypto';
import type { Credentials } from '../model.ts';

const known = new WeakMap<Credentials['users'], readonly string[]>();

/**
 * The hash of some user, for a client that is not a user. Always the same for the same name: a client that measures times cannot
 * tell whether a name has a user.
 */
export function decoyFor(name: string, users: Credentials['users']): string {
  let hashes = known.get(users);
  if (hashes === undefined) {
    hashes = Object.values(users).sort();
    known.set(users, hashes);
  }
  return hashes[createHash('sha1').update(name).digest().readUInt32BE() % hashes.length] ?? '';
}

/** The namespace of the Secret, which pays for the checks of its users. */
export const ownerOf = (id: string): string => id.slice(id.indexOf(':') + 1, id.indexOf('/'));
