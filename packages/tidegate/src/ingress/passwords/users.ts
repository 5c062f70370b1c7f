import { EXPECTED_HASHES, isKnownHash } from './formats.ts';

/** A Secret without any user that can authenticate. */
export class InvalidUsersError extends Error {
  override readonly name = 'InvalidUsersError';
}

/** Each user is data in every worker. */
const MOST_USERS = 10_000;

/** The users of a Secret, and what is wrong with others. Passwords and hashes are never part of a message. */
export interface Users {
  readonly users: Readonly<Record<string, string>>;
  readonly wrong: readonly string[];
}

/**
 * Reads the users of a Secret, whose data is in base64. `file`: the key `auth` has lines like `name:hash`. `map`: each key is a
 * name, and its value a hash. A user with another hash cannot authenticate. Throws InvalidUsersError if no user can.
 */
export function readUsers(data: Readonly<Record<string, string>>, kind: 'file' | 'map'): Users {
  if (kind === 'file' && data.auth === undefined)
    throw new InvalidUsersError('it has no key auth with the content of a file of htpasswd');
  const entries = kind === 'map' ? mapEntries(data) : fileEntries(decode(data.auth ?? ''));
  if (entries.length > MOST_USERS) throw new InvalidUsersError(`it has more than ${MOST_USERS} users`);
  const users = new Map<string, string>();
  const wrong: string[] = [];
  for (const { where, name, hash } of entries) {
    if (name === '' || hasControl(name)) wrong.push(`${where} has no valid user name`);
    else if (!isKnownHash(hash)) wrong.push(`${where} has no hash of a supported kind`);
    // As in nginx, the first line of a user counts.
    else if (!users.has(name)) users.set(name, hash);
  }
  if (users.size === 0)
    throw new InvalidUsersError(
      `it has no user that can authenticate${wrong.length > 0 ? ` (${wrong[0]})` : ''}: write ${EXPECTED_HASHES}`,
    );
  return { users: Object.fromEntries(users), wrong };
}

interface Entry {
  readonly where: string;
  readonly name: string;
  readonly hash: string;
}

const mapEntries = (data: Readonly<Record<string, string>>): Entry[] =>
  Object.entries(data).map(([name, value]) => ({
    where: `key ${name}`,
    name,
    hash: decode(value).trim(),
  }));

/** Comments and empty lines are left out. A third field, for example a comment of the user, is ignored. */
const fileEntries = (text: string): Entry[] =>
  text.split(/\r?\n/).flatMap((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return [];
    const [name = '', hash = ''] = line.split(':');
    return [{ where: `line ${index + 1}`, name, hash: hash.trim() }];
  });

const decode = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');

const hasControl = (text: string): boolean => /\p{Cc}/u.test(text);
