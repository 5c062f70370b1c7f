import type { ReplicaSet } from '../../../../kube/index.ts';

/**
 * Which of our own writes to ReplicaSets the cache does not show yet. Every write was conditional on the version that
 * the cache showed then, so as long as it shows that version, the write is missing.
 */
export class OwnWrites {
  /** By Deployment, then by the uid of the ReplicaSet. */
  readonly #versions = new Map<string, Map<string, string>>();

  /** `before` is the ReplicaSet as the cache showed it, `after` what the server made of it. */
  wrote(deploymentKey: string, before: ReplicaSet, after: ReplicaSet): void {
    const { uid = '', resourceVersion = '' } = before.metadata;
    // A write that changed nothing causes no event that could be waited for.
    if (after.metadata.resourceVersion === resourceVersion) return;
    const versions = this.#versions.get(deploymentKey);
    if (versions === undefined) this.#versions.set(deploymentKey, new Map([[uid, resourceVersion]]));
    else versions.set(uid, resourceVersion);
  }

  /** Whether all that was written shows; from then on it is forgotten. */
  areVisible(deploymentKey: string, replicaSets: readonly ReplicaSet[]): boolean {
    const versions = this.#versions.get(deploymentKey);
    if (versions === undefined) return true;
    const missing = replicaSets.some(
      ({ metadata }) => versions.get(metadata.uid ?? '') === metadata.resourceVersion,
    );
    if (!missing) this.#versions.delete(deploymentKey);
    return !missing;
  }

  forget(deploymentKey: string): void {
    this.#versions.delete(deploymentKey);
  }
}
