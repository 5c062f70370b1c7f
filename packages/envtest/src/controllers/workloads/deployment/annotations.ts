import type { KubeObject } from '@tidegate/kube';

/** The revision of a ReplicaSet; on the Deployment, the current revision. */
export const REVISION = 'deployment.kubernetes.io/revision';
/** The earlier revisions of a ReplicaSet that became current again by a rollback. */
export const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
/**
 * `spec.replicas` of the Deployment when the ReplicaSet was last sized. A difference means that the user has scaled
 * it.
 */
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';
/** The same plus maxSurge: the total that the ReplicaSet's size is a share of. */
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas';

/** Annotations of a Deployment that are not copied to its ReplicaSets. */
export const NOT_INHERITED: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  'deprecated.deployment.rollback.to',
]);

/** Undefined when the annotation is absent or not a number. */
export function numberIn({ metadata }: KubeObject, annotation: string): number | undefined {
  const text = metadata.annotations?.[annotation];
  return text !== undefined && /^[0-9]{1,10}$/.test(text) ? Number(text) : undefined;
}
