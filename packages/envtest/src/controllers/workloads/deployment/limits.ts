import type { Deployment } from '@tidegate/kube';
import { resolveIntOrPercent } from '../../int-or-percent.ts';

/** The bounds within which a rolling update moves. */
export interface Limits {
  /** `spec.replicas`. */
  replicas: number;
  /** How many pods there may be in addition to `replicas`. */
  maxSurge: number;
  /** How many of the `replicas` pods may be unavailable. */
  maxUnavailable: number;
}

/** Whether old pods are replaced step by step; otherwise all are deleted first. */
export const isRolling = ({ spec }: Deployment): boolean =>
  (spec?.strategy?.type ?? 'RollingUpdate') === 'RollingUpdate';

/** Percentages round up for maxSurge and down for maxUnavailable, so that fewer pods are unavailable. */
export function limitsOf(deployment: Deployment): Limits {
  const { replicas = 1, strategy } = deployment.spec!;
  if (!isRolling(deployment)) return { replicas, maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy?.rollingUpdate ?? {};
  const surge = resolveIntOrPercent(maxSurge, replicas, Math.ceil);
  const unavailable = resolveIntOrPercent(maxUnavailable, replicas, Math.floor);
  return {
    replicas,
    maxSurge: surge,
    // If both were 0, the rollout could never advance.
    maxUnavailable: Math.min(replicas, surge === 0 && unavailable === 0 ? 1 : unavailable),
  };
}
