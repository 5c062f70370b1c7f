import { isConflict, isNotFound, type Reconcile, type ReconcileResult } from '@tidegate/kube';

/**
 * Ignores Conflict and NotFound. Both mean that the cache is out of date. The missing event is on its way and
 * enqueues the key again, so an error log and an earlier retry would be of no use.
 */
export const untilCacheCatchesUp =
  (reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>): Reconcile =>
  async (key, signal): Promise<ReconcileResult | undefined> => {
    try {
      return await reconcile(key, signal);
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return undefined;
      throw error;
    }
  };
