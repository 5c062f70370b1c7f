import type { Deployment, ReplicaSet } from '@tidegate/kube';
import { NOT_INHERITED, numberIn, REVISION, REVISION_HISTORY } from './annotations.ts';
import { isObserved, olderFirst, type Rollout, sizeOf } from './rollout.ts';

const LONGEST_HISTORY = 2000;
/** What clients write for "keep all". */
const UNLIMITED = 2 ** 31 - 1;

export const revisionOf = (replicaSet: ReplicaSet): number => numberIn(replicaSet, REVISION) ?? 0;

/** What the new ReplicaSet's annotations should be: the Deployment's own, and a revision above all others. */
export function currentAnnotations({ deployment, current, old }: Rollout): Record<string, string> {
  const annotations = { ...current?.metadata.annotations, ...inherited(deployment) };
  const next = Math.max(0, ...old.map(revisionOf)) + 1;
  const before = annotations[REVISION];
  // Something that is no revision was put there by somebody who may need it.
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

/** The oldest revisions are forgotten when the list gets too long. */
function withRevision(history: string | undefined, revision: string): string {
  const revisions = [...(history ?? '').split(',').filter((entry) => entry !== ''), revision];
  while (revisions.join(',').length > LONGEST_HISTORY) revisions.shift();
  return revisions.join(',');
}

/** The old ReplicaSets that `revisionHistoryLimit` has no place for: the lowest revisions, if they have no pods. */
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
