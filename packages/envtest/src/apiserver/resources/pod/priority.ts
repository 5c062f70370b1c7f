/** The priorities of pods: PriorityClasses, and those of them that exist in every cluster. */
import type { KubeObject } from '@tidegate/kube';

export interface PriorityClass extends KubeObject {
  value?: number;
  globalDefault?: boolean;
  description?: string;
  preemptionPolicy?: string;
}

/** The classes that exist in every cluster. */
export const SYSTEM_CLASSES: readonly PriorityClass[] = [
  systemClass(
    'system-node-critical',
    2_000_001_000,
    'Used for system critical pods that must not be moved from their current node.',
  ),
  systemClass(
    'system-cluster-critical',
    2_000_000_000,
    'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  ),
];

function systemClass(name: string, value: number, description: string): PriorityClass {
  const type = { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass' };
  return { ...type, metadata: { name }, value, description, preemptionPolicy: 'PreemptLowerPriority' };
}
