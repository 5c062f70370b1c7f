import { compareResourceVersions, isOlderVersion } from '@tidegate/kube';
import { tooOldResourceVersion } from '@tidegate/serving';
import { isSingle, NODE, SHARED, type ViewItem, type ViewKey } from '../views/index.ts';
import { newerOf, nextVersion } from './version.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** A watch event. The resourceVersion of the item is the version of the event. */
export interface ProjectionEvent {
  readonly type: EventType;
  readonly item: ViewItem;
}

/** An event, or a version that clients received without an event, for example in a list or a bookmark. */
interface Entry {
  version: string;
  event?: ProjectionEvent;
}

const MOST_ENTRIES = 1024;
const MIB = 1024 * 1024;

/**
 * How many bytes of events a projection of this view keeps. A client can have hundreds of private views, and decides how
 * much their objects change. If an event is too large, clients that resume from before it list again.
 */
export function historyBytes({ key }: { key: ViewKey }): number {
  if (key.identity === SHARED || key.identity === NODE) return 4 * MIB;
  return isSingle(key) ? MIB / 4 : MIB;
}

/**
 * The latest events of a projection, for clients that resume a watch. They are in the order in which they were sent, which
 * is not always the order of their versions: an event that a Service causes may be sent before an older change of the slice
 * itself arrives.
 *
 * So a resume from version V is not "all events with a version above V". If V was handed out here, the client has received
 * everything up to the entry of V, and gets what was sent after it. Only if V was not handed out here, for example because
 * the client got it from a list of the API server, the versions decide.
 */
export class History {
  readonly #mostBytes: number;
  #entries: Entry[];
  #bytes = 0;
  /** The oldest version to resume from. A client with this version or a newer one has missed no trimmed event. */
  #oldest: string;
  /** The version of the last relist. Events before it may be missing here, see `relisted`. */
  #relistedAt: string | undefined;

  /** `mostBytes` is the size of all events that are kept. */
  constructor(version: string, mostBytes: number) {
    this.#mostBytes = mostBytes;
    this.#oldest = version;
    this.#entries = [{ version }];
  }

  /** The oldest version that a client can resume from. */
  get oldest(): string {
    return this.#oldest;
  }

  record(event: ProjectionEvent): void {
    this.#entries.push({ version: event.item.resourceVersion, event });
    this.#bytes += event.item.bytes.length;
  }

  /** Records that `version` is handed out in lists and bookmarks from now on, so clients may resume from it. */
  mark(version: string): void {
    const last = this.#entries.at(-1);
    if (last?.version === version) return;
    if (last !== undefined && last.event === undefined) last.version = version;
    else this.#entries.push({ version });
  }

  /** Whether the version was handed out here and is not trimmed. */
  has(version: string): boolean {
    return this.#entries.some((entry) => entry.version === version);
  }

  /**
   * Records that the view was listed again at `version`. Up to there, only the difference between two lists is known, not
   * the events. A client that resumes from an older version which was not handed out here may have seen an object that was
   * created and deleted between the lists. No event would delete it, so `since` refuses the version.
   */
  relisted(version: string): void {
    this.#relistedAt = newerOf(this.#relistedAt, version);
  }

  /** Removes the oldest entries while there are too many. */
  trim(): void {
    let trimmed = 0;
    for (const { version, event } of this.#entries) {
      if (this.#entries.length - trimmed <= MOST_ENTRIES && this.#bytes <= this.#mostBytes) break;
      trimmed += 1;
      this.#bytes -= event?.item.bytes.length ?? 0;
      // The next version, not this one: several events may have this version, and some of them may be trimmed.
      this.#oldest = newerOf(this.#oldest, nextVersion(version));
    }
    this.#entries.splice(0, trimmed);
  }

  /**
   * The events for a client that has seen everything up to `version`. Throws 410 if they are not known. If the version was
   * handed out several times, the first place counts: the client may receive an event twice, which is harmless, but misses
   * none.
   */
  since(version: string): ProjectionEvent[] {
    const index = this.#entries.findIndex((entry) => entry.version === version);
    const isHandedOut = index >= 0;
    const isComparable = compareResourceVersions(version, this.#oldest) !== undefined;
    if ((!isHandedOut && !isComparable) || isOlderVersion(version, this.#oldest))
      throw tooOldResourceVersion(version, this.#oldest);
    if (!isHandedOut && isOlderVersion(version, this.#relistedAt))
      throw tooOldResourceVersion(version, this.#relistedAt ?? '');
    const first = isHandedOut
      ? index + 1
      : this.#entries.findIndex((e) => isOlderVersion(version, e.version));
    if (first < 0) return [];
    return this.#entries.slice(first).flatMap(({ event }) => event ?? []);
  }
}
