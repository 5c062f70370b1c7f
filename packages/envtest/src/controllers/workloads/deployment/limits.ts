import type { Deployment } from '@tidegate/kube';
import { resolveIntOrPercent } from '../../int-or-percent.ts';

export interface Limits {
  /** `spec.replicas`. */
  replicas: number;
  /** So many pods more than `replicas` there may be. */
  maxSurge: number;
  /** So many pods fewer than `replicas` must be available. */
  maxUnavailable: number;
}

export const isRolling = ({ spec }: Deployment): boolean =>
  (spec?.strategy?.type ?? 'RollingUpdate') === 'RollingUpdate';

/** Percentages of the surge round up and those of the unavailable down, so that fewer pods fail at once. */
export function limitsOf(deployment: Deployment): Limits {
  const { replicas = 1, strategy } = deployment.spec!;
  if (!isRolling(deployment)) return { replicas, maxSurge: 0, maxUnavailable: 0 };
  const { maxSurge = '25%', maxUnavailable = '25%' } = strategy?.rollingUpdate ?? {};
  const surge = resolveIntOrPercent(maxSurge, replicas, Math.ceil);
  const unavailable = resolveIntOrPercent(maxUnavailable, replicas, Math.floor);
  return {
    replicas,
    maxSurge: surge,
    // With neither, the rollout could not move.
    maxUnavailable: Math.min(replicas, surge === 0 && unavailable === 0 ? 1 : unavailable),
  };
}
