import { define, statusOf } from '../define.ts';
import { defaultPodTemplate } from '../pod/defaults.ts';
import { ageColumn, nameColumn, since } from '../table.ts';
import { selectorColumn, templateColumns } from '../workloads/template.ts';
import type { CronJob } from '../workloads/types.ts';
import { nameWarnings, templateWarnings } from '../workloads/warnings.ts';
import { validateCronJob } from './validate.ts';

const template = ({ spec }: CronJob) => spec.jobTemplate?.spec?.template;

export const cronjobs = define<CronJob>({
  group: 'batch',
  kind: 'CronJob',
  plural: 'cronjobs',
  shortNames: ['cj'],
  categories: ['all'],
  parts: ['spec', 'status'],
  generation: true,
  subresources: statusOf('batch', 'v1', 'CronJob'),
  table: [
    nameColumn,
    { name: 'Schedule', field: 'spec.schedule', cell: ({ spec }) => spec.schedule ?? '' },
    { name: 'Timezone', field: 'spec.timeZone', cell: ({ spec }) => spec.timeZone ?? '<none>' },
    {
      name: 'Suspend',
      type: 'boolean',
      field: 'spec.suspend',
      cell: ({ spec }) => (spec.suspend === undefined ? '<unset>' : spec.suspend ? 'True' : 'False'),
    },
    {
      name: 'Active',
      type: 'integer',
      field: 'status.active',
      cell: ({ status }) => (status.active ?? []).length,
    },
    {
      name: 'Last Schedule',
      field: 'status.lastScheduleTime',
      cell: ({ status }, now) =>
        status.lastScheduleTime === undefined ? '<none>' : since(status.lastScheduleTime, now),
    },
    ageColumn,
    ...templateColumns<CronJob>(template),
    selectorColumn<CronJob>(
      ({ spec }) => spec.jobTemplate?.spec?.selector,
      undefined,
      'spec.jobTemplate.spec.selector',
    ),
  ],
  defaults({ spec }) {
    spec.concurrencyPolicy ||= 'Allow';
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
    spec.jobTemplate ??= {};
    spec.jobTemplate.metadata ??= {};
    spec.jobTemplate.spec ??= {};
    // Jobs are defaulted when they are created. The template gets only the defaults of the pod.
    spec.jobTemplate.spec.template ??= {};
    defaultPodTemplate(spec.jobTemplate.spec.template);
  },
  prepareForCreate(cronJob) {
    cronJob.status = {};
  },
  validate: validateCronJob,
  warnings: (cronJob, old) => [
    ...nameWarnings(cronJob, old),
    ...templateWarnings(cronJob, old, template, 'spec.jobTemplate.spec.template'),
  ],
});
