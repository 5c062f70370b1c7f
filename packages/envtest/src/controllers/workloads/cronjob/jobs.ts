import type { CronJob, Job } from '@tidegate/kube';
import type { ObjectReference } from 'kubernetes-types/core/v1.d.ts';
import { clockOf } from '../../../cron/next.ts';
import { controllerReference } from '../../pods/index.ts';
import { timestamp } from '../../timestamp.ts';

const SCHEDULED_TIME = 'batch.kubernetes.io/cronjob-scheduled-timestamp';

/** One name per scheduled minute, so that no time is handled twice, even if the status was lost. */
export const jobName = (cronJob: string, scheduledTime: number): string =>
  `${cronJob}-${Math.floor(scheduledTime / 60_000)}`;

/** The Job for one scheduled time. Its name contains the time, so that the same run cannot be created twice. */
export function jobFromTemplate(cronJob: CronJob, scheduledTime: number): Job {
  const { metadata, spec } = cronJob;
  const template = spec!.jobTemplate;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(metadata.name ?? '', scheduledTime),
      namespace: metadata.namespace,
      labels: { ...template.metadata?.labels },
      annotations: {
        ...template.metadata?.annotations,
        [SCHEDULED_TIME]: zonedTimestamp(scheduledTime, spec!.timeZone ?? 'UTC'),
      },
      ownerReferences: [controllerReference(cronJob)],
    },
    spec: structuredClone(template.spec),
  };
}

/** RFC 3339 with the offset of the time zone at that time. */
function zonedTimestamp(time: number, timeZone: string): string {
  const wall = clockOf(timeZone)(time).getTime();
  const minutes = Math.round((wall - time) / 60_000);
  if (minutes === 0) return timestamp(time);
  const two = (n: number): string => String(n).padStart(2, '0');
  const size = Math.abs(minutes);
  const offset = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  return timestamp(wall).replace('Z', offset);
}

/** The entry in `status.active`. */
export const referenceTo = ({ apiVersion, kind, metadata }: Job): ObjectReference => ({
  apiVersion,
  kind,
  namespace: metadata.namespace,
  name: metadata.name,
  uid: metadata.uid,
  resourceVersion: metadata.resourceVersion,
});
