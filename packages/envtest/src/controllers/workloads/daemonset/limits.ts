import type { DaemonSet } from '@tidegate/kube';
import { resolveIntOrPercent } from '../../int-or-percent.ts';
import type { Place } from './observe.ts';

/** How many nodes an update may affect at the same time. */
export interface UpdateLimits {
  /** The number of nodes that should have a daemon pod. */
  desired: number;
  maxUnavailable: number;
  maxSurge: number;
}

/** Resolves percentages against the number of nodes, rounded up. */
export function updateLimits({ spec }: DaemonSet, places: readonly Place[]): UpdateLimits {
  const desired = places.filter(({ wanted }) => wanted).length;
  const { type, rollingUpdate } = spec?.updateStrategy ?? {};
  if (type === 'OnDelete') return { desired, maxUnavailable: 0, maxSurge: 0 };
  const maxSurge = resolveIntOrPercent(rollingUpdate?.maxSurge ?? 0, desired, Math.ceil);
  const maxUnavailable = resolveIntOrPercent(rollingUpdate?.maxUnavailable ?? 1, desired, Math.ceil);
  // If both were 0, an update could never begin.
  return { desired, maxSurge, maxUnavailable: maxSurge === 0 ? Math.max(1, maxUnavailable) : maxUnavailable };
}
