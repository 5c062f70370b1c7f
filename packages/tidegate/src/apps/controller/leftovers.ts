import { isBeingDeleted, isNotFound, type KubeClient, type KubeObject, type Resource } from '@tidegate/kube';
import { EDITION_LABEL, type EdgeApplication, type ResourceIdentifier } from '../../api/index.ts';
import type { Children } from './children.ts';
import { isOwnedBy } from './ownership.ts';
import { identityOfIdentifier, type Outcome } from './status.ts';

/** Every object that the application may have made: they stand in the status before they are made. */
export function recordedObjects({ status }: EdgeApplication): Map<string, ResourceIdentifier> {
  const made = (status?.manifestStatuses ?? [])
    .map(({ identifier }) => identifier)
    .filter(({ resource, name }) => resource !== undefined && name !== undefined);
  return new Map(made.map((identifier) => [identityOfIdentifier(identifier), identifier]));
}

export const resourceOf = ({
  group = '',
  version = '',
  resource = '',
  namespace,
}: ResourceIdentifier): Resource => ({
  group,
  version,
  resource,
  namespaced: namespace !== undefined,
});

/** The object, if it is there and the application's. */
export async function findOwned(
  children: Children,
  application: EdgeApplication,
  identifier: ResourceIdentifier,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const live = await children.get(resourceOf(identifier), identifier, signal);
  return live !== undefined && isOwnedBy(live, application, true) ? live : undefined;
}

/** Deletes exactly this object, not one that came after it under the same name. Returns false when that was done before. */
export async function deleteOwned(
  client: KubeClient,
  identifier: ResourceIdentifier,
  live: KubeObject,
  signal: AbortSignal,
): Promise<boolean> {
  if (isBeingDeleted(live)) return false;
  const { namespace, name = '' } = identifier;
  const { uid } = live.metadata;
  try {
    await client.delete(
      resourceOf(identifier),
      { name, ...(namespace !== undefined && { namespace }) },
      { propagationPolicy: 'Background', ...(uid !== undefined && { preconditions: { uid } }), signal },
    );
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return true;
}

/** Why an object that is not rendered now must stay all the same; undefined when nothing speaks for it. */
export function reasonToKeep(
  live: KubeObject,
  hasErrors: boolean,
  missingPools: ReadonlySet<string>,
): Omit<Outcome, 'identifier'> | undefined {
  if (hasErrors)
    return {
      available: false,
      reason: 'Kept',
      message: 'it runs on as it was, and nothing is removed, until everything can be rendered',
    };
  const edition = live.metadata.labels?.[EDITION_LABEL];
  if (edition !== undefined && missingPools.has(edition))
    return {
      available: false,
      reason: 'PoolMissing',
      message: `it runs on as it was: there is no NodeGroup or NodePool ${edition} now`,
    };
  return undefined;
}
