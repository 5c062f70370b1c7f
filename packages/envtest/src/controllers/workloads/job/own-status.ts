import { isOlderVersion, type Job, keyOf } from '@tidegate/kube';

/**
 * Detects a Job in the cache that is older than this controller's last status write. Counters must not be computed
 * from such a state, no matter how long it lasts: a pod that was counted and then released would be counted again.
 */
export class OwnStatus {
  /** By Job key, the resourceVersion of the last write, until the cache shows it. */
  readonly #written = new Map<string, string>();

  wrote(job: Job): void {
    this.#written.set(keyOf(job), job.metadata.resourceVersion ?? '');
  }

  /** True when the cached Job is too old. The event that updates the cache also enqueues the key again. */
  isBehind(key: string, cached: Job | undefined): boolean {
    if (isOlderVersion(cached?.metadata.resourceVersion, this.#written.get(key))) return true;
    this.#written.delete(key);
    return false;
  }
}
