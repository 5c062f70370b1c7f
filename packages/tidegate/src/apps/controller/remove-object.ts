import { ApiStatusError, isBeingDeleted, isForbidden, isNotFound, type KubeObject } from '@tidegate/kube';
import type { EdgeApplication, ResourceIdentifier } from '../../api/index.ts';
import type { ApplyTools } from './apply-object.ts';
import { nameOf } from './messages.ts';
import { isControlledBy, isCreatedBy, isOwnedBy, type Recorded } from './ownership.ts';
import { permissionHint } from './permission-hint.ts';
import { resourceOf } from './recorded-objects.ts';
import type { Outcome } from './status.ts';

/** The result of an attempt to delete one recorded object. */
export type Removal =
  /** It does not exist, or never belonged to the application. */
  | { readonly state: 'absent' }
  /** The application changed it, but did not create it. */
  | { readonly state: 'foreign' }
  | { readonly state: 'kept'; readonly why: Omit<Outcome, 'identifier'> }
  /** It still exists. `requested`: this attempt deleted it, not an earlier one. */
  | { readonly state: 'deleting'; readonly requested: boolean }
  /** `refused`: the server does not allow it, so another attempt without a change of permissions would fail as well. */
  | { readonly state: 'failed'; readonly message: string; readonly refused: boolean };

/**
 * Deletes one recorded object of an application if the application created it, unless `reasonToKeep` returns a reason. An
 * error of the API server is part of the result: it concerns this object, and must not stop the work on others.
 */
export async function removeObject(
  { client, children }: Pick<ApplyTools, 'client' | 'children'>,
  application: EdgeApplication,
  recorded: Recorded,
  signal: AbortSignal,
  reasonToKeep: (live: KubeObject) => Omit<Outcome, 'identifier'> | undefined = () => undefined,
): Promise<Removal> {
  const { identifier, isPending } = recorded;
  /** Whether our apply created an object without a recorded UID is in its managed fields, which caches do not have. */
  const createdBy = async (live: KubeObject): Promise<boolean> =>
    isCreatedBy(live, recorded) ||
    isControlledBy(live, application) ||
    (identifier.uid === undefined &&
      live.metadata.managedFields === undefined &&
      isCreatedBy(await client.get(resourceOf(identifier), placeOf(identifier), { signal }), recorded));
  try {
    const live = await children.get(resourceOf(identifier), identifier, signal);
    if (live === undefined || !isOwnedBy(live, application, true)) return { state: 'absent' };
    if (!(await createdBy(live))) return { state: 'foreign' };
    const why = reasonToKeep(live);
    if (why !== undefined) return { state: 'kept', why };
    if (isBeingDeleted(live)) return { state: 'deleting', requested: false };
    const { uid } = live.metadata;
    // The UID protects a newer object with the same name.
    await client.delete(resourceOf(identifier), placeOf(identifier), {
      propagationPolicy: 'Background',
      ...(uid !== undefined && { preconditions: { uid } }),
      signal,
    });
    return { state: 'deleting', requested: true };
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    if (isNotFound(error)) return { state: 'absent' };
    const refused = isForbidden(error);
    // Without a UID, the application did not create it: there is nothing to delete in a namespace without access.
    if (refused && identifier.uid === undefined && !isPending) return { state: 'absent' };
    return { state: 'failed', message: error.message + permissionHint(error, identifier), refused };
  }
}

const placeOf = ({ namespace, name = '' }: ResourceIdentifier): { name: string; namespace?: string } => ({
  name,
  ...(namespace !== undefined && { namespace }),
});

/** The message for an object that an application has changed, but not created. */
export const notDeleted = (identifier: ResourceIdentifier): string =>
  `${nameOf(identifier)} is not deleted, because this application did not create it: delete it yourself if it is not needed`;

/** The message for an object that is left when the application is deleted. */
export const leftBehind = (identifier: ResourceIdentifier, message: string): string =>
  `${nameOf(identifier)} is left, because the manager may not delete it: delete it yourself if it is not needed; ${message}`;
