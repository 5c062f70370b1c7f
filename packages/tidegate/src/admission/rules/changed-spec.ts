import { isDeepStrictEqual } from 'node:util';
import { isBeingDeleted } from '@tidegate/kube';
import type { AdmissionRequest } from '../review.ts';

/**
 * Returns the spec if the request changes it. An invalid spec that was stored earlier, for example while the webhook was
 * not installed, must not block changes of labels or finalizers, or the deletion of the object.
 */
export function changedSpec<Spec>({ object, oldObject }: AdmissionRequest): NonNullable<Spec> | undefined {
  if (!object || isBeingDeleted(object)) return undefined;
  if (oldObject && isDeepStrictEqual(object.spec, oldObject.spec)) return undefined;
  return (object.spec ?? {}) as NonNullable<Spec>;
}
