import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type KubeObject, ownField } from '@tidegate/kube';
import { MADE_FROM_ANNOTATION } from '../../api/index.ts';

/**
 * Adds an annotation with a hash of the object. isAsWanted only checks that wanted fields are present, so it would miss
 * a field that is no longer wanted; then the hash differs. The owners are not in it: routers that share pods come and go, and
 * the object is still made from the same spec.
 */
export function withMadeFrom<T extends KubeObject>(object: T): T {
  const content = JSON.stringify({ ...object, metadata: { ...object.metadata, ownerReferences: undefined } });
  const digest = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const annotations = { ...object.metadata.annotations, [MADE_FROM_ANNOTATION]: digest };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** Whether the object has all wanted fields. Ignores fields of other managers and defaults of the API server. */
export const isAsWanted = (actual: KubeObject | undefined, wanted: KubeObject): boolean =>
  actual !== undefined && contains(actual, wanted);

/** Whether the object has exactly these owners. */
export const hasOwners = (actual: KubeObject | undefined, wanted: KubeObject): boolean =>
  isDeepStrictEqual(new Set(ownersOf(actual)), new Set(ownersOf(wanted)));

const ownersOf = (object: KubeObject | undefined): string[] =>
  (object?.metadata.ownerReferences ?? []).map(({ uid }) => uid);

function contains(actual: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) return Array.isArray(actual) && containsItems(actual, wanted);
  if (typeof wanted !== 'object' || wanted === null) return isDeepStrictEqual(actual, wanted);
  if (typeof actual !== 'object' || actual === null) return false;
  return Object.entries(wanted).every(
    ([key, value]) =>
      value === undefined || contains(ownField(actual as Record<string, unknown>, key), value),
  );
}

/** Lists of plain values must be equal. Lists of objects may contain others, for example an injected sidecar. */
const containsItems = (actual: readonly unknown[], wanted: readonly unknown[]): boolean =>
  wanted.every((item) => typeof item === 'object')
    ? wanted.every((item) => actual.some((each) => contains(each, item)))
    : isDeepStrictEqual(actual, wanted);
