import { type Clock, isOlderVersion, qualifiedName, type Resource } from '@tidegate/kube';

/** How long an answer without a resourceVersion keeps reads of its resource away from the view. */
const UNKNOWN_MS = 2_000;

/**
 * What clients of this node have just written to resources that are read from a shared view. Whoever reads right after
 * a write shall find it, although the view hears of it a little later.
 */
export class RecentWrites {
  readonly #clock: Clock;
  readonly #writes = new Map<string, { resourceVersion?: string; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `resourceVersion` is that of the answer; some answers, such as to a deletion, have none. */
  wrote(resource: Resource, resourceVersion: string | undefined): void {
    const before = this.#writes.get(qualifiedName(resource))?.resourceVersion;
    const newest = isOlderVersion(resourceVersion, before) ? before : resourceVersion;
    const at = this.#clock.monotonic();
    this.#writes.set(qualifiedName(resource), {
      at,
      ...(newest === undefined ? {} : { resourceVersion: newest }),
    });
  }

  /** Does a view at this version show all that was written through this hub? */
  shownAt(resource: Resource, viewVersion: string | undefined): boolean {
    const name = qualifiedName(resource);
    const write = this.#writes.get(name);
    if (write === undefined) return true;
    const shown =
      write.resourceVersion === undefined
        ? this.#clock.monotonic() - write.at > UNKNOWN_MS
        : viewVersion !== undefined && !isOlderVersion(viewVersion, write.resourceVersion);
    if (shown) this.#writes.delete(name);
    return shown;
  }
}
