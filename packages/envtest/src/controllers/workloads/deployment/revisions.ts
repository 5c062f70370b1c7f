import type { Deployment, ReplicaSet } from '@tidegate/kube';
import { NOT_INHERITED, REVISION, REVISION_HISTORY } from './annotations.ts';
import { isObserved, olderFirst, type Rollout, sizeOf } from './rollout.ts';

const MAX_HISTORY = 2000;
/** The value that clients use for "keep all". */
const UNLIMITED = 2 ** 31 - 1;

/** Revisions are 64-bit numbers. Other texts were set by users. */
const IS_REVISION = /^[0-9]{1,19}$/;

/** The revision number that `kubectl rollout history` shows. */
export function revisionOf({ metadata }: ReplicaSet): bigint {
  const text = metadata.annotations?.[REVISION] ?? '';
  return IS_REVISION.test(text) ? BigInt(text) : 0n;
}

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);

/** The annotations of the current ReplicaSet: those of the Deployment, and a revision above all others. */
export function currentAnnotations({ deployment, current, old }: Rollout): Record<string, string> {
  const annotations = { ...current?.metadata.annotations, ...inherited(deployment) };
  const next = old.map(revisionOf).reduce(larger, 0n) + 1n;
  const before = annotations[REVISION];
  // A value that is not a number was set by a user and is kept.
  if (before !== undefined && !IS_REVISION.test(before)) return annotations;
  if (before !== undefined && BigInt(before) >= next) return annotations;
  annotations[REVISION] = String(next);
  if (before !== undefined)
    annotations[REVISION_HISTORY] = withRevision(annotations[REVISION_HISTORY], before);
  return annotations;
}

function inherited({ metadata }: Deployment): Record<string, string> {
  const entries = Object.entries(metadata.annotations ?? {}).filter(([name]) => !NOT_INHERITED.has(name));
  return Object.fromEntries(entries);
}

/** Drops the oldest revisions when the list gets too long. */
function withRevision(history: string | undefined, revision: string): string {
  const revisions = [...(history ?? '').split(',').filter((entry) => entry !== ''), revision];
  while (revisions.join(',').length > MAX_HISTORY) revisions.shift();
  return revisions.join(',');
}

/** The old ReplicaSets beyond `revisionHistoryLimit`: the lowest revisions, if they have no pods. */
export function outdated({ deployment, old }: Rollout): ReplicaSet[] {
  const limit = deployment.spec?.revisionHistoryLimit ?? UNLIMITED;
  const kept = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return kept
    .toSorted((a, b) => Number(revisionOf(a) - revisionOf(b)) || olderFirst(a, b))
    .slice(0, Math.max(0, kept.length - limit))
    .filter(isEmpty);
}

const isEmpty = (replicaSet: ReplicaSet): boolean =>
  sizeOf(replicaSet) === 0 && (replicaSet.status?.replicas ?? 0) === 0 && isObserved(replicaSet);
