import type { KubeObject } from '@tidegate/kube';

/** Which rollout made, or brought back, a ReplicaSet; on the Deployment: the one that counts now. */
export const REVISION = 'deployment.kubernetes.io/revision';
/** The revisions a ReplicaSet had before it was brought back. */
export const REVISION_HISTORY = 'deployment.kubernetes.io/revision-history';
/** `spec.replicas` of the Deployment when the ReplicaSet was last sized: a difference means that users scaled it. */
export const DESIRED_REPLICAS = 'deployment.kubernetes.io/desired-replicas';
/** The same with the surge on top: what the ReplicaSet's size was a part of. */
export const MAX_REPLICAS = 'deployment.kubernetes.io/max-replicas';

/** Annotations of a Deployment that say nothing about its ReplicaSets. */
export const NOT_INHERITED: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  REVISION,
  REVISION_HISTORY,
  DESIRED_REPLICAS,
  MAX_REPLICAS,
  'deprecated.deployment.rollback.to',
]);

/** Undefined when it is absent or no number. */
export function numberIn({ metadata }: KubeObject, annotation: string): number | undefined {
  const text = metadata.annotations?.[annotation];
  return text !== undefined && /^[0-9]{1,10}$/.test(text) ? Number(text) : undefined;
}
