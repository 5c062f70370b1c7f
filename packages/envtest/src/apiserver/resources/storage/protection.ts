/**
 * Finalizers that keep volumes and claims while they are in use: a claim while a pod uses it, and a volume while it is
 * bound. The server adds them to new objects and removes them itself; see `protection` in the collector.
 */
import type { KubeObject } from '@tidegate/kube';

export const PROTECTION_FINALIZERS = {
  PersistentVolume: 'kubernetes.io/pv-protection',
  PersistentVolumeClaim: 'kubernetes.io/pvc-protection',
  VolumeAttributesClass: 'kubernetes.io/vac-protection',
} as const;

/** Protects a new object. */
export function protect({ metadata }: KubeObject, kind: keyof typeof PROTECTION_FINALIZERS): void {
  const finalizer = PROTECTION_FINALIZERS[kind];
  const finalizers = metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) metadata.finalizers = [...finalizers, finalizer];
}
