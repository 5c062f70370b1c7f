/** Strategic merge patches: the schema of a built-in kind defines which lists are merged, and by which key. */
import { isJsonMap, ownField } from '@tidegate/kube';
import {
  applyStrategicMergePatch as apply,
  type FieldStrategy,
  StrategicMergeError,
} from '@tidegate/kube/patch';
import { badRequest } from '@tidegate/serving';
import type { Schema } from '../schema/types.ts';
import { goJsonKind } from './go-format.ts';
import { strategicApiError } from './strategic-errors.ts';

export function applyStrategicMergePatch<T extends object>(target: T, patch: unknown, schema: Schema): T {
  // Go decodes null into an empty map.
  if (patch === null) return target;
  if (!isJsonMap(patch)) {
    throw badRequest(
      `json: cannot unmarshal ${goJsonKind(patch)} into Go value of type map[string]interface {}`,
    );
  }
  try {
    return apply(target, patch, strategyOf, schema);
  } catch (error) {
    throw error instanceof StrategicMergeError ? strategicApiError(error) : error;
  }
}

function strategyOf(schema: Schema | undefined, field: string): FieldStrategy<Schema> {
  const additional = schema?.additionalProperties;
  const own =
    ownField(schema?.properties, field) ?? (typeof additional === 'object' ? additional : undefined);
  // `retainKeys` may accompany either; it only matters to clients, which then send the directive.
  const actions = own?.['x-kubernetes-patch-strategy']?.split(',') ?? [];
  const action = actions.find((name) => name !== 'retainKeys');
  return {
    schema: own,
    items: own?.items,
    action: action === 'merge' || action === 'replace' ? action : undefined,
    mergeKey: own?.['x-kubernetes-patch-merge-key'],
  };
}
