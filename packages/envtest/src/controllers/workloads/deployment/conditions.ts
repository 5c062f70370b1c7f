import type { DeploymentCondition } from 'kubernetes-types/apps/v1.d.ts';
import { timestamp } from '../timestamp.ts';

export type Conditions = readonly DeploymentCondition[];
type Update = Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>;

export const findCondition = (conditions: Conditions, type: string): DeploymentCondition | undefined =>
  conditions.find((condition) => condition.type === type);

export const withoutCondition = (conditions: Conditions, type: string): Conditions =>
  conditions.filter((condition) => condition.type !== type);

/** Unlike other conditions these have a `lastUpdateTime`, and keep everything while status and reason stay. */
export function withCondition(conditions: Conditions, update: Update, now: number): Conditions {
  const old = findCondition(conditions, update.type);
  const same = old?.status === update.status && old?.reason === update.reason;
  return same ? conditions : withFreshCondition(conditions, update, now);
}

/** The same, but `lastUpdateTime` is now even if nothing else changed: the progress deadline counts from there. */
export function withFreshCondition(conditions: Conditions, update: Update, now: number): Conditions {
  const old = findCondition(conditions, update.type);
  const lastUpdateTime = timestamp(now);
  const lastTransitionTime = old?.status === update.status ? old.lastTransitionTime : lastUpdateTime;
  return [...withoutCondition(conditions, update.type), { ...update, lastUpdateTime, lastTransitionTime }];
}
