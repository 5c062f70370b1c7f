import { isOlderVersion, type Job, keyOf } from '@tidegate/kube';

/**
 * Which Jobs the cache shows in a state from before our own last write of their status. A status that counts must not
 * be added to in that state, however long it lasts: what was counted and then let go would be counted again.
 */
export class OwnStatus {
  /** The resourceVersion of our last write, by the Job's key, until the cache shows it. */
  readonly #written = new Map<string, string>();

  wrote(job: Job): void {
    this.#written.set(keyOf(job), job.metadata.resourceVersion ?? '');
  }

  /** When it is, the event that brings the cache up to date also brings the key back. */
  isBehind(key: string, cached: Job | undefined): boolean {
    if (isOlderVersion(cached?.metadata.resourceVersion, this.#written.get(key))) return true;
    this.#written.delete(key);
    return false;
  }
}
