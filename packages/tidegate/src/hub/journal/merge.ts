/**
 * Predicts what the API server makes of a patch of a node's or pod's status, an event or a lease. Patches are merged with
 * the code that the embedded API server uses, so both come to the same result.
 */
import { isJsonMap, type JsonMap } from '@tidegate/kube';
import { applyStrategicMergePatch, type FieldStrategy, StrategicMergeError } from '@tidegate/kube/patch';
import { badRequest } from '@tidegate/serving';

/** The merge key of each list that is merged, by the name of the list. */
export type MergeKeys = Readonly<Record<string, string>>;

/** The lists in the status of nodes and pods that the API server merges; it replaces all others. */
export const STATUS_MERGE_KEYS: MergeKeys = {
  conditions: 'type',
  addresses: 'type',
  podIPs: 'ip',
  hostIPs: 'ip',
  resourceClaimStatuses: 'name',
};

/**
 * Applies a strategic merge patch. The keys are those of lists directly in the target, not of nested ones.
 *
 * A list with `$patch: replace` keeps the order of the patch: several addresses of a node can share one type, and the API
 * server would group them by type.
 */
export function merge(target: JsonMap, patch: JsonMap, keys: MergeKeys = {}): JsonMap {
  const strategyOf = (known: MergeKeys | undefined, field: string): FieldStrategy<MergeKeys> | undefined => {
    if (known === undefined || !Object.hasOwn(known, field)) return undefined;
    return { action: isReplaced(patch[field]) ? 'replace' : 'merge', mergeKey: known[field] };
  };
  try {
    return applyStrategicMergePatch(target, patch, strategyOf, keys);
  } catch (error) {
    throw error instanceof StrategicMergeError ? badRequest(error.message) : error;
  }
}

const isReplaced = (list: unknown): boolean =>
  Array.isArray(list) && list.some((item) => isJsonMap(item) && item.$patch === 'replace');
