import { isDeepStrictEqual } from 'node:util';
import type { ControllerRevision, KubeObject, LabelSelector } from '@tidegate/kube';
import type { PodTemplateSpec } from 'kubernetes-types/core/v1.d.ts';
import { controllerReference } from '../../pods/index.ts';
import { templateHash } from '../deployment/template.ts';

/** An object with a revision history: a DaemonSet or a StatefulSet. */
export interface Revised extends KubeObject {
  spec?: { template: PodTemplateSpec; selector: LabelSelector; revisionHistoryLimit?: number };
  status?: { collisionCount?: number };
}

/** A patch that restores this template; `kubectl rollout undo` sends it. */
interface RevisionData {
  spec: { template: PodTemplateSpec & { $patch: 'replace' } };
}

const MAX_PREFIX = 223;

const dataOf = (template: PodTemplateSpec): RevisionData => ({
  spec: { template: { ...template, $patch: 'replace' } },
});

/** The template that a revision holds. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec {
  const { $patch: _, ...template } = (data as unknown as RevisionData).spec.template;
  return template;
}

/** Whether the revision has this template. */
export const holds = (revision: ControllerRevision, template: PodTemplateSpec): boolean =>
  isDeepStrictEqual(revision.data, dataOf(template));

/** How to make the current template the newest revision. */
export type RevisionPlan =
  /** The newest revision already has the template. */
  | { type: 'keep'; revision: ControllerRevision }
  /** An older revision has the template; it becomes the newest again. */
  | { type: 'renumber'; revision: ControllerRevision; number: number }
  | { type: 'create'; number: number };

/** How to make the newest revision the one with this template. */
export function planRevision(
  template: PodTemplateSpec,
  revisions: readonly ControllerRevision[],
): RevisionPlan {
  const newest = Math.max(0, ...revisions.map(({ revision }) => revision));
  const equal = byAge(revisions)
    .filter((revision) => holds(revision, template))
    .at(-1);
  if (equal === undefined) return { type: 'create', number: newest + 1 };
  if (equal.revision === newest) return { type: 'keep', revision: equal };
  return { type: 'renumber', revision: equal, number: newest + 1 };
}

/** The oldest revisions beyond the limit that no pod uses. */
export function surplusRevisions(
  revisions: readonly ControllerRevision[],
  isLive: (revision: ControllerRevision) => boolean,
  limit: number,
): ControllerRevision[] {
  const past = byAge(revisions).filter((revision) => !isLive(revision));
  return past.slice(0, Math.max(0, past.length - limit));
}

/** A revision for the current template. `collisions` changes the hash if another object already has the name. */
export function newRevision(
  owner: Revised,
  hashLabel: string,
  number: number,
  collisions: number,
): ControllerRevision {
  const { template } = owner.spec!;
  const { name = '', namespace, annotations } = owner.metadata;
  const hash = templateHash(template, collisions);
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name.slice(0, MAX_PREFIX)}-${hash}`,
      namespace,
      labels: { ...template.metadata?.labels, [hashLabel]: hash },
      annotations: { ...annotations },
      ownerReferences: [controllerReference(owner)],
    },
    data: dataOf(template) as unknown as ControllerRevision['data'],
    revision: number,
  };
}

const byAge = (revisions: readonly ControllerRevision[]): ControllerRevision[] =>
  revisions.toSorted((a, b) => a.revision - b.revision || (a.metadata.name! < b.metadata.name! ? -1 : 1));
