import { Allowance, type Holder } from '../shares/index.ts';
import type { ViewLimits } from './eviction.ts';
import type { ViewKey } from './view.ts';
import { isSingle, NODE, SHARED } from './view-key.ts';

/** The place of one followed view in the share of its client, until `leave` is called. */
export interface Place {
  /**
   * Counts the size of the view, in bytes. Returns false, and counts nothing, if it has grown and the client may not use that
   * much memory.
   */
  resize(bytes: number): boolean;
  leave(): void;
}

/** Shared views, and views of the node, have a place always. */
const ALWAYS: Place = { resize: () => true, leave: () => {} };

/**
 * Limits the views that the hub follows for clients, because each of them costs a connection to the API server, and memory
 * for its objects. A client that asks for more gets its watches from the API server.
 */
export class FollowedShares {
  readonly #holderOf: (identity: string) => Holder;
  readonly #lists: Allowance;
  readonly #singles: Allowance;
  readonly #bytes: Allowance;

  constructor({ lists, singles, bytes }: ViewLimits, holderOf: (identity: string) => Holder) {
    this.#holderOf = holderOf;
    this.#lists = new Allowance(lists);
    this.#singles = new Allowance(singles);
    this.#bytes = new Allowance(bytes);
  }

  /**
   * Returns undefined if the client has no place left. Every client has a place while no API server is reachable: only stored
   * views can be used then, and nothing else could answer.
   */
  enter(key: ViewKey, { bytes, online }: { bytes: number; online: boolean }): Place | undefined {
    if (key.identity === NODE || key.identity === SHARED) return ALWAYS;
    const holder = this.#holderOf(key.identity);
    const views = isSingle(key) ? this.#singles : this.#lists;
    const view = online ? views.open(holder, 1) : views.openAnyway(holder, 1);
    if (view === undefined) return undefined;
    // What is on disk already is within limits. It is only refused if it grows.
    const memory = this.#bytes.openAnyway(holder, bytes);
    const leave = (): void => {
      view.close();
      memory.close();
    };
    return { resize: (size) => memory.resize(size), leave };
  }
}
