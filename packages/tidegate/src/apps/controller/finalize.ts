import { hasFinalizer, isNotFound, type KubeObject, removeFinalizer } from '@tidegate/kube';
import { EDGE_APPLICATION_FINALIZER, EDGE_APPLICATIONS, type EdgeApplication } from '../../api/index.ts';
import type { Tools } from './bring-about.ts';
import { deleteOwned, findOwned, recordedObjects } from './leftovers.ts';
import type { Outcome } from './status.ts';

/** `kubectl delete --cascade=orphan`: what the application made shall stay. The garbage collector takes it off soon. */
export const isOrphaning = (application: KubeObject): boolean => hasFinalizer(application, 'orphan');

/**
 * Deletes all that the application made, wherever it is, unless it shall stay. The application goes when all of that
 * was seen to be gone; until then, returns what is left.
 */
export async function finalize(
  { client, children }: Tools,
  application: EdgeApplication,
  stays: boolean,
  signal: AbortSignal,
): Promise<readonly Outcome[]> {
  if (!hasFinalizer(application, EDGE_APPLICATION_FINALIZER)) return [];
  const left: Outcome[] = [];
  if (!stays) {
    for (const identifier of recordedObjects(application).values()) {
      const live = await findOwned(children, application, identifier, signal);
      if (live === undefined) continue;
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
