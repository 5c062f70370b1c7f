import type { Condition } from '../base/object.ts';

/** A condition without its time, which `setCondition` decides. */
export type ConditionUpdate = Omit<Condition, 'lastTransitionTime'>;

/** The condition of this type; undefined if there is none. */
export const getCondition = (
  conditions: readonly Condition[] | undefined,
  type: string,
): Condition | undefined => conditions?.find((condition) => condition.type === type);

/** Whether the condition exists and its status is `True`. An unknown status is not true. */
export const isConditionTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  getCondition(conditions, type)?.status === 'True';

/**
 * Returns the list with the condition set. `lastTransitionTime` changes only if the status does. Returns the same
 * list if nothing changed, so that `!==` shows whether there is anything to write.
 *
 * @example
 * const ready = { type: 'Ready', status: 'True', reason: 'Applied', message: 'All objects are applied.' } as const;
 * const conditions = setCondition(site.status?.conditions ?? [], ready, clock.now());
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

/** Returns the list without this condition, or the same list if it does not have one. */
export function removeCondition(conditions: readonly Condition[], type: string): readonly Condition[] {
  const rest = conditions.filter((condition) => condition.type !== type);
  return rest.length === conditions.length ? conditions : rest;
}

const isSame = (a: Condition, b: Condition): boolean =>
  a.status === b.status &&
  a.reason === b.reason &&
  a.message === b.message &&
  a.observedGeneration === b.observedGeneration;
