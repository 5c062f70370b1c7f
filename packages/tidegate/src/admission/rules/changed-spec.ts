import { isDeepStrictEqual } from 'node:util';
import type { AdmissionRequest } from '../review.ts';

/**
 * Returns the spec if the request changes it. An invalid spec that was stored earlier, for example while the webhook was
 * not installed, must not block changes of labels or finalizers, or the deletion of the object.
 *
 * That holds for an object that is being deleted too: a finalizer can hold it for any time, and other clients may still read it.
 */
export function changedSpec<Spec>({ object, oldObject }: AdmissionRequest): NonNullable<Spec> | undefined {
  if (!object) return undefined;
  if (oldObject && isDeepStrictEqual(object.spec, oldObject.spec)) return undefined;
  return (object.spec ?? {}) as NonNullable<Spec>;
}
