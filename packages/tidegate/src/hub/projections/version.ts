/**
 * Arithmetic on resource versions.
 *
 * The hub treats versions as numbers, which Kubernetes allows for comparison within one resource. It also compares the
 * version of a Service with that of an EndpointSlice: all resources in one etcd share one counter. If a cluster stores
 * resources in several etcds, or uses versions that are not numbers, these functions still return a valid version, but
 * the order of changes across resources is lost.
 */
import { isOlderVersion } from '@tidegate/kube';

/** The newer of two versions; the second if they cannot be compared. */
export const newerOf = (a: string | undefined, b: string): string =>
  a !== undefined && isOlderVersion(b, a) ? a : b;

/** A later version. A version that is not a number is returned unchanged. */
export const nextVersion = (version: string, by = 1): string =>
  /^\d+$/.test(version) ? String(BigInt(version) + BigInt(by)) : version;

/**
 * The version for an object that looks different because of `cause`: the version of the cause, or the next after the
 * current version if the object has that version or a newer one already. A numeric result is always newer than `current`.
 */
export const causeOrNext = (cause: string, current: string): string =>
  isOlderVersion(current, cause) ? cause : nextVersion(current);
