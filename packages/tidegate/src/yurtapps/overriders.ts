import { isBeingDeleted } from '@tidegate/kube';
import type { YurtAppOverrider } from '../api/index.ts';

/** The index of YurtAppOverriders by their subject. */
export const SUBJECT_INDEX = 'yurtapps/subject';

/** `key`: of the subject, with its namespace. */
export const subjectKey = (kind: string, key: string): string => `${kind} ${key}`;

/** The kind and the key of the subject. */
export const subjectOf = ({ metadata, subject }: YurtAppOverrider): { kind: string; key: string } => ({
  kind: `${subject?.kind}`,
  key: `${metadata.namespace}/${subject?.name}`,
});

export const subjectKeys = (overrider: YurtAppOverrider): string[] => {
  const { kind, key } = subjectOf(overrider);
  return [subjectKey(kind, key)];
};

/**
 * Of several YurtAppOverriders for one subject, the oldest one counts. Admission refuses the others. One that is being deleted has
 * no effect any more, however long a finalizer holds it.
 */
export const overriderFor = (all: readonly YurtAppOverrider[]): YurtAppOverrider | undefined =>
  all.filter((one) => !isBeingDeleted(one)).toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))[0];

const ageOf = ({ metadata }: YurtAppOverrider): string => `${metadata.creationTimestamp} ${metadata.name}`;
