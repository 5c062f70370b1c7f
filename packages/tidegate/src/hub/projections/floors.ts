import { isOlderVersion } from '@tidegate/kube';
import type { View } from '../views/index.ts';
import { newerOf, nextVersion } from './version.ts';

interface RecordedFloor {
  /** The version of the view when the floor was recorded. */
  readonly at: string;
  readonly floor: string | undefined;
  /** The number of the filter configuration when the floor was recorded. */
  readonly configuration: number;
}

/**
 * For each view, the oldest version from which a client may resume a watch in a new projection: the floor.
 *
 * A projection may hand out versions that are newer than its view (see `causeOrNext`). When it is dropped after some idle
 * time, its history is lost. A projection that is created later for the same clients starts at the version of the view,
 * and would accept a client that resumes with one of those newer versions, as if it had missed nothing. The floor is
 * above all versions that were handed out before, so such a client gets 410 Gone and lists again.
 */
export class Floors {
  readonly #recorded = new WeakMap<View, RecordedFloor>();
  #configuration = 0;

  /**
   * Called when the filter configuration changes. Clients saw all current objects through other filters, so from now on
   * the floor of every recorded view is above its current version.
   */
  reconfigured(): void {
    this.#configuration += 1;
  }

  /**
   * Records that clients may have seen versions before `version` whose history is lost. Undefined: the projection handed
   * out no versions of its own, so the floor does not rise.
   */
  raise(view: View, version: string | undefined): void {
    const at = view.resourceVersion;
    if (at === undefined) return;
    const before = this.of(view);
    const floor = version === undefined ? before : newerOf(before, version);
    this.#recorded.set(view, { at, floor, configuration: this.#configuration });
  }

  /** The floor for a new projection of the view. Undefined: the version of the view is enough. */
  of(view: View): string | undefined {
    const recorded = this.#recorded.get(view);
    const now = view.resourceVersion;
    // If the view has moved back, the cluster was restored from a backup: versions start again, and old floors are void.
    if (recorded === undefined || now === undefined || isOlderVersion(now, recorded.at)) return undefined;
    const unchanged = recorded.configuration === this.#configuration;
    return unchanged ? recorded.floor : newerOf(recorded.floor, nextVersion(now));
  }
}
