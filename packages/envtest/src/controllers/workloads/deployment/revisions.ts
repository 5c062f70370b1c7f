import type { Deployment, ReplicaSet } from '@tidegate/kube';
import { NOT_INHERITED, numberIn, REVISION, REVISION_HISTORY } from './annotations.ts';
import { isObserved, olderFirst, type Rollout, sizeOf } from './rollout.ts';

const MAX_HISTORY = 2000;
/** The value that clients use for "keep all". */
const UNLIMITED = 2 ** 31 - 1;

/** The revision number that `kubectl rollout history` shows. */
export const revisionOf = (replicaSet: ReplicaSet): number => numberIn(replicaSet, REVISION) ?? 0;

/** The annotations of the current ReplicaSet: those of the Deployment, and a revision above all others. */
export function currentAnnotations({ deployment, current, old }: Rollout): Record<string, string> {
  const annotations = { ...current?.metadata.annotations, ...inherited(deployment) };
  const next = Math.max(0, ...old.map(revisionOf)) + 1;
  const before = annotations[REVISION];
  // A value that is not a number was set by a user and is kept.
  if (before !== undefined && !/^[0-9]+$/.test(before)) return annotations;
  if (before !== undefined && Number(before) >= next) return annotations;
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
    .toSorted((a, b) => revisionOf(a) - revisionOf(b) || olderFirst(a, b))
    .slice(0, Math.max(0, kept.length - limit))
    .filter(isEmpty);
}

const isEmpty = (replicaSet: ReplicaSet): boolean =>
  sizeOf(replicaSet) === 0 && (replicaSet.status?.replicas ?? 0) === 0 && isObserved(replicaSet);
