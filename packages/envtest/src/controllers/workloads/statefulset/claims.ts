/** The PersistentVolumeClaims of StatefulSets. A claim stays when its pod is deleted, so that the data survives. */
import {
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  type KubeObject,
  PERSISTENT_VOLUME_CLAIMS,
  type PersistentVolumeClaim,
  type Pod,
  type StatefulSet,
} from '@tidegate/kube';
import { controllerReference } from '../../pods/index.ts';
import { claimName, claimTemplates, ordinalOf, startOrdinal } from './identity.ts';

/** Creates the claims of a pod that do not exist yet. */
export async function createClaims(
  client: KubeClient,
  set: StatefulSet,
  ordinal: number,
  signal: AbortSignal,
): Promise<void> {
  for (const claim of claimsOf(set, ordinal)) {
    try {
      await client.create(PERSISTENT_VOLUME_CLAIMS, claim, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
}

function claimsOf(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  const { namespace } = set.metadata;
  const isDeletedWithSet = set.spec?.persistentVolumeClaimRetentionPolicy?.whenDeleted === 'Delete';
  const { controller: _, ...owner } = controllerReference(set);
  return claimTemplates(set).map(({ metadata, spec }) => ({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {
      name: claimName(set, metadata?.name ?? '', ordinal),
      namespace,
      labels: { ...metadata?.labels, ...set.spec?.selector?.matchLabels },
      ...(metadata?.annotations && { annotations: metadata.annotations }),
      ...(isDeletedWithSet && { ownerReferences: [owner] }),
    },
    spec,
  }));
}

/** Deletes the claims of pods that were removed by scaling down, if the set asks for it. */
export async function deleteScaledDown(
  client: KubeClient,
  set: StatefulSet,
  claims: readonly PersistentVolumeClaim[],
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<void> {
  if (set.spec?.persistentVolumeClaimRetentionPolicy?.whenScaled !== 'Delete') return;
  const end = startOrdinal(set) + (set.spec.replicas ?? 1);
  const inUse = new Set(pods.map((pod) => ordinalOf(set, pod)));
  for (const { metadata } of claims) {
    const ordinal = ordinalOfClaim(set, metadata);
    if (ordinal === undefined || ordinal < end || inUse.has(ordinal)) continue;
    if (metadata.deletionTimestamp !== undefined) continue;
    const target = { namespace: metadata.namespace, name: metadata.name ?? '' };
    await client
      .delete(PERSISTENT_VOLUME_CLAIMS, target, { preconditions: { uid: metadata.uid }, signal })
      .catch((error: unknown) => (isNotFound(error) ? undefined : Promise.reject(error)));
  }
}

/** Undefined for claims of others. */
function ordinalOfClaim(set: StatefulSet, { name = '' }: KubeObject['metadata']): number | undefined {
  for (const { metadata } of claimTemplates(set)) {
    const prefix = claimName(set, metadata?.name ?? '', 0).slice(0, -1);
    const suffix = name.startsWith(prefix) ? name.slice(prefix.length) : '';
    if (/^(0|[1-9][0-9]*)$/.test(suffix)) return Number(suffix);
  }
  return undefined;
}
