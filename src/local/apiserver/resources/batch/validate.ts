import type { FieldError } from '../../field-error.ts';
import type { CronJob, Job } from '../workloads/types.ts';

export const validateJob = (_: Job): FieldError[] => [];
export const validateJobUpdate = (_: Job, _old: Job): FieldError[] => [];
export const validateCronJob = (_: CronJob): FieldError[] => [];
