import type { Condition } from '../base/object.ts';

export type ConditionUpdate = Omit<Condition, 'lastTransitionTime'>;

export const getCondition = (
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined => conditions?.find((condition) => condition.type === type);

export const isConditionTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  getCondition(conditions, type)?.status === 'True';

/**
 * Returns the list with the condition set. `lastTransitionTime` changes only if the status does. Returns the same
 * list if nothing changed, so that `!==` tells whether there is anything to write.
 */
export function setCondition(
  conditions: readonly Condition[],
  update: ConditionUpdate,
  now: number,
): readonly Condition[] {
  const old = getCondition(conditions, update.type);
  const lastTransitionTime =
    old?.status === update.status
      ? old.lastTransitionTime
      : new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
  const condition: Condition = { ...update, lastTransitionTime };
  if (old === undefined) return [...conditions, condition];
  if (isSame(old, condition)) return conditions;
  return conditions.map((c) => (c === old ? condition : c));
}

export function removeCondition(conditions: readonly Condition[], type: string): readonly Condition[] {
  const rest = conditions.filter((condition) => condition.type !== type);
  return rest.length === conditions.length ? conditions : rest;
}

const isSame = (a: Condition, b: Condition): boolean =>
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  a.observedGeneration === b.observedGeneration;
