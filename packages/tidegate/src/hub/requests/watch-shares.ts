import type { Identity } from '../identity/index.ts';
import { type Account, Allowance, type Holder, UNLIMITED } from '../shares/index.ts';

/** Each watch of a shared resource with other selectors needs memory for what it selects, and time for each event. */
const SHARED_WATCHES = { perIdentity: 200, total: 1_000 };
/** Bytes that wait for clients that read slowly. */
const QUEUED_BYTES = { perIdentity: 64 << 20, total: 256 << 20 };

/** Limits what watches of one client, and of one tenant, may use. The node has no limits. */
export class WatchShares {
  readonly #holderOf: (identityKey: string) => Holder;
  readonly #sharedWatches = new Allowance(SHARED_WATCHES);
  readonly #queued = new Allowance(QUEUED_BYTES);

  constructor(holderOf: (identityKey: string) => Holder) {
    this.#holderOf = holderOf;
  }

  /** A watch of a shared resource. Undefined if the client has too many. The caller must close it. */
  sharedWatch({ kind, key }: Identity): Account | undefined {
    return kind === 'node' ? UNLIMITED : this.#sharedWatches.open(this.#holderOf(key), 1);
  }

  /** What waits to be read by the client of one watch. The caller must close it. */
  queue({ kind, key }: Identity): Account {
    return kind === 'node' ? UNLIMITED : this.#queued.openAnyway(this.#holderOf(key));
  }
}
