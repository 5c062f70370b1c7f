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

/** Does not throw when the ReplicaSet cannot be created: the outcome belongs in the Deployment's status. */
export async function createReplicaSet(
  client: KubeClient,
  deployment: Deployment,
  replicaSet: ReplicaSet,
  signal: AbortSignal,
): Promise<Creation> {
  try {
    return { replicaSet: await client.create(REPLICA_SETS, replicaSet, { signal }), isNew: true };
  } catch (error) {
    if (isAlreadyExists(error)) return resolveNameConflict(client, deployment, replicaSet, signal);
    const reason = error instanceof Error ? error.message : String(error);
    const message = `Failed to create new replica set "${replicaSet.metadata.name}": ${reason}`;
    return { failure: new Error(message, { cause: error }) };
  }
}

/**
 * The ReplicaSet with this name either belongs to this Deployment and is not in the cache yet, or belongs to another
 * owner. In the second case the Deployment has to use another name.
 */
async function resolveNameConflict(
  client: KubeClient,
  deployment: Deployment,
  { metadata: { namespace, name = '' } }: ReplicaSet,
  signal: AbortSignal,
): Promise<Creation> {
  const existing = await client.get(REPLICA_SETS, { namespace, name }, { signal });
  const isOurs = isControlledBy(existing, deployment) && hasTemplateOf(existing, deployment);
  return isOurs ? { replicaSet: existing, isNew: false } : { nameTaken: true };
}
