/**
 * Passwords of basic authentication. The Secret of an Ingress has hashes in the formats of htpasswd:
 *
 * - `formats.ts`: which hashes are accepted, by their text alone;
 * - `users.ts`: reads the users of a Secret. The compiler uses it, so a data plane gets only hashes that it knows;
 * - `verify.ts`, `md5-crypt.ts` and `sha-crypt.ts`: compare a password with a hash;
 * - `decoy.ts`: the hash that is computed for a name without a user;
 * - `checker.ts`: does this for requests, with a memory of what was right, and a limit of the CPU time for each tenant.
 *
 * A request has `Authorization: Basic ...`: `credentialsOf` decodes it, and `PasswordChecker` returns `right`, `wrong` or `busy`.
 * nginx gets the same users, and `passwords.lua` does the same with the functions of nginx and the C library.
 */
export {
  CPU_SHARE,
  MOST_CPU_MS,
  MOST_REMEMBERED,
  MOST_TENANT_CPU_MS,
  PasswordChecker,
  SAVED_PART,
  TENANT_CPU_SHARE,
} from './checker.ts';
export { credentialsOf, MOST_CREDENTIALS_BYTES } from './credentials.ts';
export { decoyFor, ownerOf } from './decoy.ts';
export { InvalidUsersError, readUsers } from './users.ts';
export { verifyPassword } from './verify.ts';
