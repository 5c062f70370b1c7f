import { hasFinalizer, isNotFound, type KubeObject, removeFinalizer } from '@tidegate/kube';
import { EDGE_APPLICATION_FINALIZER, EDGE_APPLICATIONS, type EdgeApplication } from '../../api/index.ts';
import type { Tools } from './reconcile-objects.ts';
import { recordedObjects } from './recorded-objects.ts';
import { leftBehind, notDeleted, removeObject } from './remove-object.ts';
import { DELETE_FAILED, type Outcome } from './status.ts';

/**
 * Whether the application is deleted with `kubectl delete --cascade=orphan`, which keeps its objects. The garbage
 * collector removes this finalizer soon after.
 */
export const isOrphaning = (application: KubeObject): boolean => hasFinalizer(application, 'orphan');

/**
 * Deletes all objects that an application created, in every namespace, unless `orphan` is set. Removes the finalizer of the
 * application when all objects are gone; until then, returns the objects that are left.
 *
 * An object that the manager may not delete does not hold the application: the application would hold its namespace, and
 * the namespace controller deletes role bindings before applications. The garbage collector deletes such objects in the
 * namespace of the application, and an event names them.
 */
export async function finalize(
  tools: Tools,
  application: EdgeApplication,
  orphan: boolean,
  signal: AbortSignal,
): Promise<readonly Outcome[]> {
  const { client, recorder } = tools;
  if (!hasFinalizer(application, EDGE_APPLICATION_FINALIZER)) return [];
  const left: Outcome[] = [];
  if (!orphan) {
    for (const recorded of recordedObjects(application).values()) {
      const { identifier } = recorded;
      const removal = await removeObject(tools, application, recorded, signal);
      if (removal.state === 'foreign') recorder.normal(application, 'NotDeleted', notDeleted(identifier));
      if (removal.state === 'deleting') left.push({ identifier, ...TERMINATING });
      if (removal.state !== 'failed') continue;
      if (removal.refused)
        recorder.warning(application, 'NotDeleted', leftBehind(identifier, removal.message));
      else left.push({ identifier, available: false, reason: DELETE_FAILED, message: removal.message });
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

const TERMINATING: Omit<Outcome, 'identifier'> = {
  available: false,
  reason: 'Terminating',
  message: 'the application is being deleted',
};
