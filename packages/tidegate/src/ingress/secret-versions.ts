/**
 * How the manager notifies routers of changed Secrets. A router may read each Secret that its Ingresses name, but by name
 * only, and a watch for each of them would cost the API server and the hub as many connections as there are certificates.
 * So the manager publishes their versions in the status of the L7Router, which the router watches anyway, and the router
 * reads what has changed.
 *
 * The status must stay small with thousands of Secrets, and must not reveal their names. So Secrets are divided into groups
 * by a hash of their key, and each group has one version: a hash of the versions of its Secrets. A change costs one write of
 * the manager, and a read of the few Secrets of one group. Pure.
 */
import { createHash } from 'node:crypto';

/** Versions by group. Groups without Secrets are left out. There are at most MOST_SECRET_GROUPS. */
export type SecretVersions = Readonly<Record<string, string>>;

/** The group of a Secret, `namespace/name`: one of 256. */
export const groupOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 2);

/** `secrets` has the key of each Secret with its resourceVersion, or undefined if it does not exist or is unknown. */
export function secretVersions(secrets: ReadonlyMap<string, string | undefined>): SecretVersions {
  const groups = new Map<string, string[]>();
  for (const [key, version = ''] of secrets) {
    const group = groupOf(key);
    const lines = groups.get(group);
    if (lines === undefined) groups.set(group, [`${key}@${version}`]);
    else lines.push(`${key}@${version}`);
  }
  return Object.fromEntries(
    [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([group, lines]) => [group, digest(lines)]),
  );
}

/** Groups whose version differs, including those that only one of both has. */
export function changedGroups(before: SecretVersions, after: SecretVersions): string[] {
  const groups = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...groups].filter((group) => before[group] !== after[group]);
}

const digest = (lines: readonly string[]): string =>
  createHash('sha256').update(lines.toSorted().join('\n')).digest('base64url').slice(0, 8);
