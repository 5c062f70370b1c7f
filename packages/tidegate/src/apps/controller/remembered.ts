import { createHash } from 'node:crypto';
import type { KubeObject } from '@tidegate/kube';
import type { Applied } from '../apply-known-fields.ts';

interface Memory {
  readonly wanted: string;
  readonly made: string;
  readonly dropped: readonly string[];
}

/**
 * What was applied last, and what the server made of it. As long as neither changes there is nothing to apply: neither
 * for the many changes of a status during a rollout, nor when only another object of the application has changed.
 */
export class Remembered {
  readonly #byApplication = new Map<string, Map<string, Memory>>();

  /** What the server did not take of the object, if it is as we left it; undefined if it must be applied again. */
  recall(
    application: string,
    identity: string,
    wanted: KubeObject,
    live: KubeObject,
  ): readonly string[] | undefined {
    const memory = this.#byApplication.get(application)?.get(identity);
    return memory?.wanted === hash(wanted) && memory.made === fingerprint(live) ? memory.dropped : undefined;
  }

  remember(application: string, identity: string, wanted: KubeObject, { object, dropped }: Applied): void {
    const memories = this.#byApplication.get(application) ?? new Map<string, Memory>();
    memories.set(identity, { wanted: hash(wanted), made: fingerprint(object), dropped });
    this.#byApplication.set(application, memories);
  }

  forget(application: string, identity?: string): void {
    if (identity === undefined) this.#byApplication.delete(application);
    else this.#byApplication.get(application)?.delete(identity);
  }
}

/** Of all that an application can have written: not of the status, nor of what the server counts. */
function fingerprint({ status: _, metadata, ...content }: KubeObject): string {
  const { uid, labels, annotations, ownerReferences } = metadata;
  return hash({ ...content, metadata: { uid, labels, annotations, ownerReferences } });
}

const hash = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64');
