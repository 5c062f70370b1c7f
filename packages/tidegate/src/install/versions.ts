/**
 * The rules of version skew. A minor version is the unit: 0.2 and 0.3 are one apart, 1.4 and 2.0 are more than one apart.
 * - An upgrade moves the manager by at most one minor version, and never back.
 * - Hubs and routers may be one minor version older than the manager, and never newer: upgrade the manager first.
 */
interface Version {
  major: number;
  minor: number;
  patch: number;
}

/** Undefined if the text is not a version. A suffix such as `-rc.1` does not count. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = /^v?(\d+)\.(\d+)\.(\d+)(?:[-+].*)?$/.exec(text) ?? [];
  if (patch === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

/** How many minor versions `b` is newer than `a`; Infinity if the major versions differ. */
function minorsBetween(a: Version, b: Version): number {
  if (a.major !== b.major) return b.major > a.major ? Infinity : -Infinity;
  return b.minor - a.minor;
}

/** Why the manager cannot be upgraded from one version to another. Undefined if it can. */
export function upgradeProblem(from: string, to: string): string | undefined {
  const [before, after] = [parseVersion(from), parseVersion(to)];
  if (before === undefined || after === undefined)
    return `cannot compare version ${JSON.stringify(from)} with ${JSON.stringify(to)}`;
  const distance = minorsBetween(before, after);
  if (distance < 0 || (distance === 0 && after.patch < before.patch))
    return `version ${from} is installed, which is newer than this program (${to}): use a program of version ${from} or newer`;
  if (distance > 1)
    return `version ${from} is installed: upgrade one minor version at a time, first to ${before.major}.${before.minor + 1}`;
  return undefined;
}

/** Why a hub or a router of this version does not fit to the manager. Undefined if it does. */
export function skewProblem(program: string, version: string, manager: string): string | undefined {
  const [own, other] = [parseVersion(version), parseVersion(manager)];
  if (own === undefined || other === undefined)
    return `${program} has version ${JSON.stringify(version)}, the manager ${JSON.stringify(manager)}: they cannot be compared`;
  const distance = minorsBetween(own, other);
  if (distance < 0)
    return `${program} has version ${version}, which is newer than the manager (${manager}): upgrade the manager first`;
  if (distance > 1)
    return `${program} has version ${version}, which is more than one minor version older than the manager (${manager}): upgrade it`;
  return undefined;
}
