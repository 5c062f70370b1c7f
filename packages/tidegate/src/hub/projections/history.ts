import { compareResourceVersions, isOlderVersion } from '@tidegate/kube';
import { tooOldResourceVersion } from '@tidegate/serving';
import type { ViewItem } from '../views/index.ts';
import { following, newerOf } from './version.ts';

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** One thing that clients are told. The item bears the version of the event. */
export interface ProjectionEvent {
  readonly type: EventType;
  readonly item: ViewItem;
}

/** Where something happened, or where the version moved on without anything to tell. */
interface Entry {
  version: string;
  event?: ProjectionEvent;
}

const MOST_ENTRIES = 1024;
const MOST_BYTES = 4 * 1024 * 1024;

/**
 * The latest events, for clients that come back. They stand in the order in which they were sent, which is not always
 * that of their versions: what a Service causes may get here before an older change of the slice itself.
 */
export class History {
  #entries: Entry[];
  #bytes = 0;
  /** Whoever has seen this version or a newer one has missed nothing that is forgotten. */
  #oldest: string;
  /** A version before this one that does not stand here was never ours: others have seen what we have not. */
  #leaptTo: string | undefined;

  constructor(version: string) {
    this.#oldest = version;
    this.#entries = [{ version }];
  }

  get oldest(): string {
    return this.#oldest;
  }

  record(event: ProjectionEvent): void {
    this.#entries.push({ version: event.item.resourceVersion, event });
    this.#bytes += event.item.bytes.length;
  }

  /** The version that clients are told has moved, so they may come back with it. */
  mark(version: string): void {
    const last = this.#entries.at(-1);
    if (last?.version === version) return;
    if (last !== undefined && last.event === undefined) last.version = version;
    else this.#entries.push({ version });
  }

  /** Whether the version stands here. */
  has(version: string): boolean {
    return this.#entries.some((entry) => entry.version === version);
  }

  /** What happened up to `version` is known by its outcome only. */
  leap(version: string): void {
    this.#leaptTo = newerOf(this.#leaptTo, version);
  }

  /** Forgets what is too much. */
  trim(): void {
    let forgotten = 0;
    for (const { version, event } of this.#entries) {
      if (this.#entries.length - forgotten <= MOST_ENTRIES && this.#bytes <= MOST_BYTES) break;
      forgotten += 1;
      this.#bytes -= event?.item.bytes.length ?? 0;
      // Not from that version itself: several events may bear it, and some of them may be gone.
      this.#oldest = newerOf(this.#oldest, following(version));
    }
    this.#entries.splice(0, forgotten);
  }

  /**
   * What a client has to be told that has seen everything up to `version`. It may be told something twice, which does
   * no harm: of several places where that version was handed out the first counts.
   */
  since(version: string): ProjectionEvent[] {
    const seen = this.#entries.findIndex((entry) => entry.version === version);
    const unknown = seen < 0 && compareResourceVersions(version, this.#oldest) === undefined;
    if (unknown || isOlderVersion(version, this.#oldest)) throw tooOldResourceVersion(version, this.#oldest);
    const strange = seen < 0 && isOlderVersion(version, this.#leaptTo);
    if (strange) throw tooOldResourceVersion(version, this.#leaptTo ?? '');
    const first = seen >= 0 ? seen + 1 : this.#entries.findIndex((e) => isOlderVersion(version, e.version));
    if (first < 0) return [];
    return this.#entries.slice(first).flatMap(({ event }) => event ?? []);
  }
}
