import {
  isBeingDeleted,
  isForbidden,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Resource,
} from '@tidegate/kube';
import { EDITION_LABEL, type EdgeApplication, type ResourceIdentifier } from '../../api/index.ts';
import type { Children } from './children.ts';
import { isOwnedBy, type Recorded } from './ownership.ts';
import { APPLY_FAILED, identityOfIdentifier, nameOf, type Outcome, PENDING } from './status.ts';

/** Lists every object that the application may have created. The status lists objects before they are created. */
export function recordedObjects({ status }: EdgeApplication): Map<string, Recorded> {
  const made = (status?.manifestStatuses ?? []).filter(
    ({ identifier: { resource, name } }) => resource !== undefined && name !== undefined,
  );
  return new Map(
    made.map(({ identifier, conditions = [] }) => {
      const has = (wanted: string): boolean => conditions.some(({ reason }) => reason === wanted);
      return [
        identityOfIdentifier(identifier),
        { identifier, isPending: has(PENDING), hasFailed: has(APPLY_FAILED) },
      ];
    }),
  );
}

/** The resource of an identifier in the status. It works without discovery, so also for kinds that were removed. */
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

/** Returns the object if it exists and belongs to the application. */
export async function findOwned(
  children: Children,
  application: EdgeApplication,
  { identifier, isPending }: Recorded,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    const live = await children.get(resourceOf(identifier), identifier, signal);
    return live !== undefined && isOwnedBy(live, application, true) ? live : undefined;
  } catch (error) {
    // The application did not create it, and must not delete it: there is nothing to do in a namespace without access.
    if (isForbidden(error) && identifier.uid === undefined && !isPending) return undefined;
    throw error;
  }
}

/** The message for an object that an application has changed, but not created. */
export const notDeleted = (identifier: ResourceIdentifier): string =>
  `${nameOf(identifier)} is not deleted, because this application did not create it: delete it yourself if it is not needed`;

/**
 * Deletes exactly this object: the UID precondition protects a newer object with the same name. Returns false if the
 * object is being deleted already.
 */
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

/** Returns why an object that is not rendered must be kept, or undefined if it can be deleted. */
export function reasonToKeep(
  live: KubeObject,
  hasErrors: boolean,
  missingPools: ReadonlySet<string>,
): Omit<Outcome, 'identifier'> | undefined {
  if (hasErrors)
    return {
      available: false,
      reason: 'Kept',
      message: 'the object is kept unchanged until all manifests can be rendered',
    };
  const edition = live.metadata.labels?.[EDITION_LABEL];
  if (edition !== undefined && missingPools.has(edition))
    return {
      available: false,
      reason: 'PoolMissing',
      message: `the object is kept unchanged: there is no NodeGroup or NodePool ${edition}`,
    };
  return undefined;
}
