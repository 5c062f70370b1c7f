import { isDeepStrictEqual } from 'node:util';
import { isBeingDeleted } from '@tidegate/kube';
import type { AdmissionRequest } from '../review.ts';

/**
 * The spec, if somebody writes it. What was accepted once, perhaps while nobody was here to judge, must not stand in the
 * way of a label, a finalizer, or the end of the object.
 */
export function specToJudge<Spec>({ object, oldObject }: AdmissionRequest): NonNullable<Spec> | undefined {
  if (!object || isBeingDeleted(object)) return undefined;
  if (oldObject && isDeepStrictEqual(object.spec, oldObject.spec)) return undefined;
  return (object.spec ?? {}) as NonNullable<Spec>;
}
