import { type Cache, type Clock, isOlderVersion, type KubeObject, keyOf } from '@tidegate/kube';

/** Long enough for any watch to catch up, short enough for a write whose event was lost. */
const PATIENCE_MS = 5000;

interface Write {
  key: string;
  uid: string | undefined;
  /** Undefined: deleted. */
  resourceVersion: string | undefined;
}

/**
 * Writes that the cache does not show yet. Who plans on a cache from before the own last write does everything twice,
 * so an owner waits for `waitMs` to be 0; the event of the write comes a moment later and is reason enough to look
 * again.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #cache: Cache<T>;
  readonly #clock: Clock;
  readonly #byOwner = new Map<string, { writes: Write[]; deadline: number }>();

  constructor(cache: Cache<T>, clock: Clock) {
    this.#cache = cache;
    this.#clock = clock;
  }

  wrote(owner: string, object: T): void {
    this.#expect(owner, object, object.metadata.resourceVersion);
  }

  deleted(owner: string, object: T): void {
    this.#expect(owner, object, undefined);
  }

  waitMs(owner: string): number {
    const expected = this.#byOwner.get(owner);
    if (expected === undefined) return 0;
    const left = expected.deadline - this.#clock.monotonic();
    if (left > 0 && !expected.writes.every((write) => this.#isSeen(write))) return left;
    this.#byOwner.delete(owner);
    return 0;
  }

  /** The owner is gone. */
  forget(owner: string): void {
    this.#byOwner.delete(owner);
  }

  #expect(owner: string, object: T, resourceVersion: string | undefined): void {
    const writes = this.#byOwner.get(owner)?.writes ?? [];
    writes.push({ key: keyOf(object), uid: object.metadata.uid, resourceVersion });
    this.#byOwner.set(owner, { writes, deadline: this.#clock.monotonic() + PATIENCE_MS });
  }

  #isSeen({ key, uid, resourceVersion }: Write): boolean {
    const metadata = this.#cache.get(key)?.metadata;
    if (resourceVersion === undefined) return metadata?.uid !== uid;
    return metadata !== undefined && !isOlderVersion(metadata.resourceVersion, resourceVersion);
  }
}
