import { isOlderVersion } from '@tidegate/kube';

/** The newer of two; the second where there is no order between them. */
export const newerOf = (a: string | undefined, b: string): string =>
  a !== undefined && isOlderVersion(b, a) ? a : b;

/** A version that comes after this one. Those that are no numbers have no next: they stay as they are. */
export const following = (version: string, by = 1): string =>
  /^\d+$/.test(version) ? String(BigInt(version) + BigInt(by)) : version;

/** That of the cause, unless what it changes bears it or a newer one already. */
export const laterThan = (cause: string, version: string): string =>
  isOlderVersion(version, cause) ? cause : following(version);
