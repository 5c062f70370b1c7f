import { hasFinalizer, isNotFound, type KubeObject, removeFinalizer } from '@tidegate/kube';
import { EDGE_APPLICATION_FINALIZER, EDGE_APPLICATIONS, type EdgeApplication } from '../../api/index.ts';
import { isCreatedBy } from './ownership.ts';
import type { Tools } from './reconcile-objects.ts';
import { deleteOwned, findOwned, notDeleted, recordedObjects } from './recorded-objects.ts';
import type { Outcome } from './status.ts';

/**
 * Whether the application is deleted with `kubectl delete --cascade=orphan`, which keeps its objects. The garbage
 * collector removes this finalizer soon after.
 */
export const isOrphaning = (application: KubeObject): boolean => hasFinalizer(application, 'orphan');

/**
 * Deletes all objects that an application created, in every namespace, unless `orphan` is set. Removes the finalizer of the
 * application when all objects are gone; until then, returns the objects that are left.
 */
export async function finalize(
  { client, children, recorder }: Tools,
  application: EdgeApplication,
  orphan: boolean,
  signal: AbortSignal,
): Promise<readonly Outcome[]> {
  if (!hasFinalizer(application, EDGE_APPLICATION_FINALIZER)) return [];
  const left: Outcome[] = [];
  if (!orphan) {
    for (const recorded of recordedObjects(application).values()) {
      const { identifier } = recorded;
      const live = await findOwned(children, application, recorded, signal);
      if (live === undefined) continue;
      if (!isCreatedBy(live, recorded)) {
        recorder.normal(application, 'NotDeleted', notDeleted(identifier));
        continue;
      }
      await deleteOwned(client, identifier, live, signal);
      left.push({
        identifier,
        available: false,
        reason: 'Terminating',
        message: 'the application is being deleted',
      });
    }
  }
  if (left.length > 0) return left;
  try {
    await removeFinalizer(client, EDGE_APPLICATIONS, application, EDGE_APPLICATION_FINALIZER, { signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return [];
}
