import {
  type Deployment,
  isAlreadyExists,
  type KubeClient,
  REPLICA_SETS,
  type ReplicaSet,
} from '@tidegate/kube';
import { isControlledBy } from '../../pods/index.ts';
import type { Creation } from './progress.ts';
import { hasTemplateOf } from './template.ts';

/** Never throws because of the ReplicaSet itself: what came of it belongs into the Deployment's status. */
export async function createReplicaSet(
  client: KubeClient,
  deployment: Deployment,
  replicaSet: ReplicaSet,
  signal: AbortSignal,
): Promise<Creation> {
  try {
    return { replicaSet: await client.create(REPLICA_SETS, replicaSet, { signal }), isNew: true };
  } catch (error) {
    if (isAlreadyExists(error)) return whoHasTheName(client, deployment, replicaSet, signal);
    const reason = error instanceof Error ? error.message : String(error);
    const message = `Failed to create new replica set "${replicaSet.metadata.name}": ${reason}`;
    return { failure: new Error(message, { cause: error }) };
  }
}

/** Ours, and the cache only does not know it yet; or somebody else's, for whom we have to find another name. */
async function whoHasTheName(
  client: KubeClient,
  deployment: Deployment,
  { metadata: { namespace, name = '' } }: ReplicaSet,
  signal: AbortSignal,
): Promise<Creation> {
  const existing = await client.get(REPLICA_SETS, { namespace, name }, { signal });
  const isOurs = isControlledBy(existing, deployment) && hasTemplateOf(existing, deployment);
  return isOurs ? { replicaSet: existing, isNew: false } : { nameTaken: true };
}
