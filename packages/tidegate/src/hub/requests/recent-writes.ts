import { type Clock, isOlderVersion, qualifiedName, type Resource } from '@tidegate/kube';

/** After a write whose response has no resourceVersion, reads of its resource bypass the view for this long. */
const UNKNOWN_MS = 2_000;

/**
 * Recent writes by clients of this node to shared resources. The watch upstream delivers a write a little later than
 * the response to it, so a client that reads right after its own write could miss it in the view. Until the view has
 * reached the version of the write, such reads go to the API server.
 */
export class RecentWrites {
  readonly #clock: Clock;
  /** By qualified name of the resource. `at` is monotonic time, in milliseconds. */
  readonly #writes = new Map<string, { resourceVersion?: string; at: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `resourceVersion` comes from the response; some responses, for example to a delete, have none. */
  wrote(resource: Resource, resourceVersion: string | undefined): void {
    const before = this.#writes.get(qualifiedName(resource))?.resourceVersion;
    const newest = isOlderVersion(resourceVersion, before) ? before : resourceVersion;
    const at = this.#clock.monotonic();
    this.#writes.set(qualifiedName(resource), {
      at,
      ...(newest === undefined ? {} : { resourceVersion: newest }),
    });
  }

  /** Whether a view at this version contains every write that went through this hub. */
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
