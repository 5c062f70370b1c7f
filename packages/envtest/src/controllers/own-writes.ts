import {
  type Cache,
  type Clock,
  type Informer,
  isOlderVersion,
  type KubeObject,
  keyOf,
} from '@tidegate/kube';

/** Long enough for a watch to catch up, and short enough in case the event of a write is lost. */
const TIMEOUT_MS = 5000;
/** The event of a deletion can arrive before the response to a write that came first. */
const MAX_REMEMBERED_DELETIONS = 1000;

interface Write {
  key: string;
  uid: string | undefined;
  /** Undefined for a deletion. */
  resourceVersion: string | undefined;
}

/**
 * Tracks writes that the cache does not show yet. A controller that plans from a cache older than its own last write
 * would repeat that write. It therefore does nothing for an owner while `waitMs` is above 0. The watch event of the
 * write arrives shortly afterwards and triggers the next reconcile.
 */
export class OwnWrites<T extends KubeObject> {
  readonly #cache: Cache<T>;
  readonly #clock: Clock;
  readonly #byOwner = new Map<string, { writes: Write[]; deadline: number }>();
  /** The UIDs of the last objects that were deleted. The cache will never show the writes to them. */
  readonly #deleted = new Set<string | undefined>();

  constructor(informer: Pick<Informer<T>, 'cache' | 'addHandler'>, clock: Clock) {
    this.#cache = informer.cache;
    this.#clock = clock;
    informer.addHandler({ onDelete: ({ metadata }) => this.#onDelete(metadata.uid) });
  }

  wrote(owner: string, object: T): void {
    this.#expect(owner, object, object.metadata.resourceVersion);
  }

  deleted(owner: string, object: T): void {
    this.#expect(owner, object, undefined);
  }

  /**
   * Milliseconds until the cache can be trusted; 0 when it shows every write of this owner, or the deadline has
   * passed.
   */
  waitMs(owner: string): number {
    const expected = this.#byOwner.get(owner);
    if (expected === undefined) return 0;
    const left = expected.deadline - this.#clock.monotonic();
    if (left > 0 && !expected.writes.every((write) => this.#isSeen(write))) return left;
    this.#byOwner.delete(owner);
    return 0;
  }

  /** Call it when the owner is deleted. */
  forget(owner: string): void {
    this.#byOwner.delete(owner);
  }

  #expect(owner: string, object: T, resourceVersion: string | undefined): void {
    const writes = this.#byOwner.get(owner)?.writes ?? [];
    writes.push({ key: keyOf(object), uid: object.metadata.uid, resourceVersion });
    this.#byOwner.set(owner, { writes, deadline: this.#clock.monotonic() + TIMEOUT_MS });
  }

  #onDelete(uid: string | undefined): void {
    this.#deleted.add(uid);
    if (this.#deleted.size <= MAX_REMEMBERED_DELETIONS) return;
    const [oldest] = this.#deleted;
    this.#deleted.delete(oldest);
  }

  #isSeen({ key, uid, resourceVersion }: Write): boolean {
    if (this.#deleted.has(uid)) return true;
    const metadata = this.#cache.get(key)?.metadata;
    if (resourceVersion === undefined) return metadata?.uid !== uid;
    return metadata !== undefined && !isOlderVersion(metadata.resourceVersion, resourceVersion);
  }
}
