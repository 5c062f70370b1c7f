/**
 * Predicts how the API server applies a patch to the status of a node or pod, an event or a lease. It uses the code of
 * the embedded API server, so that both get the same result.
 */
import { isJsonMap, type JsonMap, ownField } from '@tidegate/kube';
import { applyStrategicMergePatch, type FieldStrategy, StrategicMergeError } from '@tidegate/kube/patch';
import { badRequest } from '@tidegate/serving';

/** The merge key of each list that is merged, by the name of the list. */
export type MergeKeys = Readonly<Record<string, string>>;

/** The lists in the status of nodes and pods that the API server merges. It replaces all other lists. */
export const STATUS_MERGE_KEYS: MergeKeys = {
  conditions: 'type',
  addresses: 'type',
  podIPs: 'ip',
  hostIPs: 'ip',
  resourceClaimStatuses: 'name',
};

/**
 * Applies a strategic merge patch. The keys are those of lists directly in the target, not of nested lists.
 *
 * A list with `$patch: replace` keeps the order of the patch. Several addresses of a node can share one type,
 * and a merge would group them by type.
 */
export function merge(target: JsonMap, patch: JsonMap, keys: MergeKeys = {}): JsonMap {
  const strategyOf = (known: MergeKeys | undefined, field: string): FieldStrategy<MergeKeys> | undefined => {
    if (known === undefined || !Object.hasOwn(known, field)) return undefined;
    return {
      action: isReplaced(ownField(patch, field)) ? 'replace' : 'merge',
      mergeKey: ownField(known, field),
    };
  };
  try {
    return applyStrategicMergePatch(target, patch, strategyOf, keys);
  } catch (error) {
    throw error instanceof StrategicMergeError ? badRequest(error.message) : error;
  }
}

const isReplaced = (list: unknown): boolean =>
  Array.isArray(list) && list.some((item) => isJsonMap(item) && item.$patch === 'replace');
