import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '@tidegate/kube';
import { MADE_FROM_ANNOTATION } from '../../api/index.ts';

/** The object with a note of what it was made from: what is wanted no more does not show in it otherwise. */
export function noted<T extends KubeObject>(object: T): T {
  const digest = createHash('sha256').update(JSON.stringify(object)).digest('hex').slice(0, 16);
  const annotations = { ...object.metadata.annotations, [MADE_FROM_ANNOTATION]: digest };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** Whether all that is wanted is there. What others have added, and what the API server fills in, does not matter. */
export const isAsWanted = (actual: KubeObject | undefined, wanted: KubeObject): boolean =>
  actual !== undefined && contains(actual, wanted);

function contains(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) return Array.isArray(actual) && containsItems(actual, wanted);
  if (typeof wanted !== 'object' || wanted === null) return isDeepStrictEqual(actual, wanted);
  if (typeof actual !== 'object' || actual === null) return false;
  return Object.entries(wanted).every(
    ([key, value]) => value === undefined || contains((actual as Record<string, unknown>)[key], value),
  );
}

/** Texts are in order, and all there is; objects may have others among them. */
const containsItems = (actual: readonly unknown[], wanted: readonly unknown[]): boolean =>
  wanted.every((item) => typeof item === 'object')
    ? wanted.every((item) => actual.some((each) => contains(each, item)))
    : isDeepStrictEqual(actual, wanted);
