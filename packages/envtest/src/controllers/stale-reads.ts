import { isConflict, isNotFound, type Reconcile, type ReconcileResult } from '@tidegate/kube';

/**
 * A conflict, or something that is gone, says that the cache is behind. The change that it lacks is on its way and
 * brings the key back, so there is nothing to report and nothing to try again before that.
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
