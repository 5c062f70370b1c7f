/**
 * Compares two resource versions. Kubernetes long called them opaque, and only guarantees that two versions of the
 * same resource can be ordered if both are decimal numbers; otherwise the result is undefined. They may
 * exceed 2^53, so they are compared as text.
 */
export function compareResourceVersions(a: string | undefined, b: string | undefined): number | undefined {
  if (!isOrdered(a) || !isOrdered(b)) return undefined;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Whether `a` is known to be older than `b`. False if the two cannot be ordered. */
export const isOlderVersion = (a: string | undefined, b: string | undefined): boolean =>
  (compareResourceVersions(a, b) ?? 0) < 0;

const isOrdered = (version: string | undefined): version is string =>
  version !== undefined && /^[1-9][0-9]*$/.test(version);

const MOST_TOMBSTONES = 1024;

/**
 * Remembers recent deletions. Without it, an event from before the deletion, repeated by a lagging server, would
 * bring the object back: the cache has no version of a deleted object to compare with.
 */
export class Tombstones {
  readonly #versions = new Map<string, string>();

  bury(key: string, resourceVersion: string | undefined): void {
    if (resourceVersion === undefined) return;
    this.#versions.delete(key);
    this.#versions.set(key, resourceVersion);
    if (this.#versions.size <= MOST_TOMBSTONES) return;
    const [oldest] = this.#versions.keys();
    this.#versions.delete(oldest!);
  }

  isBuried(key: string, resourceVersion: string | undefined): boolean {
    return isOlderVersion(resourceVersion, this.#versions.get(key));
  }

  clear(): void {
    this.#versions.clear();
  }
}
