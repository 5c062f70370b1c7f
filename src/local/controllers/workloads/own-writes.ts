import { type KubeObject, keyOf } from '../../../kube/index.ts';
import { isOlderVersion } from '../../../kube/informer/resource-version.ts';

/**
 * Which objects the cache shows in a state from before our own last write. A status that counts must not be added to
 * in that state: what was counted and then let go would be done over.
 */
export class OwnWrites {
  /** The resourceVersion of our last write, by the object's key, until the cache shows it. */
  readonly #written = new Map<string, string>();

  wrote(object: KubeObject): void {
    this.#written.set(keyOf(object), object.metadata.resourceVersion ?? '');
  }

  /** When it is, the event that brings the cache up to date also brings the key back. */
  isBehind(key: string, cached: KubeObject | undefined): boolean {
    if (isOlderVersion(cached?.metadata.resourceVersion, this.#written.get(key))) return true;
    this.#written.delete(key);
    return false;
  }
}
