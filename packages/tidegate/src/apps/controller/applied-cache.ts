import { createHash } from 'node:crypto';
import type { KubeObject } from '@tidegate/kube';
import type { DriftPolicy } from '../../api/index.ts';
import type { Drifting } from './drift-status.ts';

/** Hashes of the last apply of one object. */
interface Memory {
  /** The object as it was sent. */
  readonly wanted: string;
  /** The object as the server returned it, with defaults. */
  readonly made: string;
  readonly result: Remembered;
}

/** What was found at the last apply. It holds while the object is unchanged. */
export interface Remembered extends Drifting {
  /** Unknown fields that were left out. */
  readonly dropped: readonly string[];
}

/**
 * Remembers what was applied and what the server returned. While both are unchanged, an apply would do nothing and is
 * skipped. This saves requests, because a rollout updates the status of an object many times, and every update causes
 * a reconcile of all objects of the application. The cache is in memory: after a restart, each object is applied once.
 */
export class AppliedCache {
  readonly #byApplication = new Map<string, Map<string, Memory>>();

  /** Returns what the last apply found if the object and the policy are unchanged since, or undefined if it must be applied. */
  recall(
    application: string,
    identity: string,
    wanted: KubeObject,
    live: KubeObject,
    policy: DriftPolicy,
  ): Remembered | undefined {
    const memory = this.#byApplication.get(application)?.get(identity);
    return memory?.wanted === hash([wanted, policy]) && memory.made === fingerprint(live)
      ? memory.result
      : undefined;
  }

  /** Stores the result of an apply. */
  remember(
    application: string,
    identity: string,
    wanted: KubeObject,
    object: KubeObject,
    policy: DriftPolicy,
    result: Remembered,
  ): void {
    const memories = this.#byApplication.get(application) ?? new Map<string, Memory>();
    memories.set(identity, { wanted: hash([wanted, policy]), made: fingerprint(object), result });
    this.#byApplication.set(application, memories);
  }

  /** Forgets one object, or all objects of the application. */
  forget(application: string, identity?: string): void {
    if (identity === undefined) this.#byApplication.delete(application);
    else this.#byApplication.get(application)?.delete(identity);
  }
}

/** A hash of everything that an apply can write: not of the status, resourceVersion, generation or managedFields. */
function fingerprint({ status: _, metadata, ...content }: KubeObject): string {
  const { uid, labels, annotations, ownerReferences } = metadata;
  return hash({ ...content, metadata: { uid, labels, annotations, ownerReferences } });
}

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64');
