import type { DeploymentCondition } from 'kubernetes-types/apps/v1.d.ts';
import { timestamp } from '../../timestamp.ts';

export type Conditions = readonly DeploymentCondition[];
type Update = Pick<DeploymentCondition, 'type' | 'status' | 'reason' | 'message'>;

export const findCondition = (conditions: Conditions, type: string): DeploymentCondition | undefined =>
  conditions.find((condition) => condition.type === type);

export const withoutCondition = (conditions: Conditions, type: string): Conditions =>
  conditions.filter((condition) => condition.type !== type);

/** Deployment conditions also have a `lastUpdateTime`. They stay unchanged while status and reason are the same. */
export function withCondition(conditions: Conditions, update: Update, now: number): Conditions {
  const old = findCondition(conditions, update.type);
  const same = old?.status === update.status && old?.reason === update.reason;
  return same ? conditions : withFreshCondition(conditions, update, now);
}

/** The same, but always sets `lastUpdateTime` to now: the progress deadline counts from there. */
export function withFreshCondition(conditions: Conditions, update: Update, now: number): Conditions {
  const old = findCondition(conditions, update.type);
  const lastUpdateTime = timestamp(now);
  const lastTransitionTime = old?.status === update.status ? old.lastTransitionTime : lastUpdateTime;
  return [...withoutCondition(conditions, update.type), { ...update, lastUpdateTime, lastTransitionTime }];
}
