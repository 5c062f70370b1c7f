import type { Job } from '@tidegate/kube';
import type { JobCondition, JobStatus } from 'kubernetes-types/batch/v1.d.ts';
import { timestamp } from '../../timestamp.ts';

/** How a Job ends. It is first set as an interim condition, and finally when every pod has ended and is counted. */
export interface Outcome {
  type: 'Complete' | 'Failed';
  reason: string;
  message: string;
}

const INTERIM = { Complete: 'SuccessCriteriaMet', Failed: 'FailureTarget' } as const;

/** Complete or Failed; undefined while the Job is running. */
export const finishedCondition = ({ status }: Job): JobCondition | undefined =>
  holding(status, 'Complete') ?? holding(status, 'Failed');

/** The outcome that was already decided. It must not be decided again from newer data. */
export function decidedOutcome({ status }: Job): Outcome | undefined {
  for (const type of ['Complete', 'Failed'] as const) {
    const condition = holding(status, INTERIM[type]);
    if (condition !== undefined) {
      return { type, reason: condition.reason ?? '', message: condition.message ?? '' };
    }
  }
  return undefined;
}

/**
 * Sets the condition that announces the outcome while pods are still running (FailureTarget or SuccessCriteriaMet).
 */
export const withInterim = (status: JobStatus, { type, reason, message }: Outcome, now: number): JobStatus =>
  withCondition(status, { type: INTERIM[type], status: 'True', reason, message }, now);

/** Sets the final condition. Only a Job that completed has a completion time. */
export function withOutcome(status: JobStatus, outcome: Outcome, now: number): JobStatus {
  const finished = withCondition(status, { ...outcome, status: 'True' }, now);
  return outcome.type === 'Complete' ? { ...finished, completionTime: timestamp(now) } : finished;
}

/** Returns `status` itself when nothing changes. A condition that is absent is not set to False. */
export function withCondition(
  status: JobStatus,
  wanted: Omit<JobCondition, 'lastProbeTime' | 'lastTransitionTime'>,
  now: number,
): JobStatus {
  const { conditions = [] } = status;
  const old = conditions.find(({ type }) => type === wanted.type);
  if (old === undefined && wanted.status === 'False') return status;
  const same =
    old?.status === wanted.status && old.reason === wanted.reason && old.message === wanted.message;
  if (same) return status;
  const time = timestamp(now);
  const condition = { ...wanted, lastProbeTime: time, lastTransitionTime: time };
  if (old === undefined) return { ...status, conditions: [...conditions, condition] };
  return { ...status, conditions: conditions.map((c) => (c === old ? condition : c)) };
}

const holding = (status: JobStatus | undefined, type: string): JobCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type && condition.status === 'True');
