import { humanDuration } from '@tidegate/kube';
import { define, statusOf } from '../define.ts';
import { defaultPodTemplate } from '../pod/defaults.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { selectorColumn, templateColumns } from '../workloads/template.ts';
import type { Job, JobSpec } from '../workloads/types.ts';
import { nameWarnings, templateWarnings } from '../workloads/warnings.ts';
import { addJobSelector } from './selector.ts';
import { validateJob, validateJobUpdate } from './validate.ts';

const MAX_INT32 = 2 ** 31 - 1;

export const jobs = define<Job>({
  group: 'batch',
  kind: 'Job',
  plural: 'jobs',
  categories: ['all'],
  parts: ['spec', 'status'],
  generation: true,
  subresources: statusOf('batch', 'v1', 'Job'),
  table: [
    nameColumn,
    { name: 'Status', description: 'Status of the job.', cell: jobStatus },
    { name: 'Completions', field: 'status.succeeded', cell: completions },
    { name: 'Duration', description: 'Time required to complete the job.', cell: jobDuration },
    ageColumn,
    ...templateColumns<Job>(({ spec }) => spec.template),
    selectorColumn<Job>(({ spec }) => spec.selector),
  ],
  selectableFields: ({ status }) => ({ 'status.successful': String(status.succeeded ?? 0) }),
  defaults(job) {
    defaultJobSpec(job.spec);
    const labels = job.spec.template?.metadata?.labels;
    if (labels !== undefined && Object.keys(job.metadata.labels ?? {}).length === 0) {
      // The same object: labels that are added to the template also appear on the job, as in kube-apiserver.
      job.metadata.labels = labels;
    }
  },
  prepareForCreate(job) {
    job.status = {};
    addJobSelector(job);
    // kube-apiserver sets these when it reads the job again; here they are set from the start.
    if (Object.keys(job.metadata.labels ?? {}).length === 0) {
      job.metadata.labels = { ...job.spec.template?.metadata?.labels };
    }
  },
  validate: validateJob,
  validateUpdate: validateJobUpdate,
  warnings: (job, old) => [
    ...nameWarnings(job, old),
    ...templateWarnings(job, old, ({ spec }) => spec.template),
  ],
});

function defaultJobSpec(spec: JobSpec): void {
  if (spec.completions === undefined && spec.parallelism === undefined) spec.completions = 1;
  spec.parallelism ??= 1;
  spec.backoffLimit ??= spec.backoffLimitPerIndex === undefined ? 6 : MAX_INT32;
  spec.completionMode ??= 'NonIndexed';
  spec.suspend ??= false;
  spec.podReplacementPolicy ??= spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  spec.manualSelector ??= false;
  for (const rule of spec.podFailurePolicy?.rules ?? []) {
    for (const pattern of rule.onPodConditions ?? []) pattern.status ||= 'True';
  }
  spec.template ??= {};
  defaultPodTemplate(spec.template);
}

function jobStatus({ metadata, status }: Job): string {
  const has = (type: string): boolean =>
    (status.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has) ?? 'Running';
}

function completions({ spec, status }: Job): string {
  const succeeded = status.succeeded ?? 0;
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`;
  const parallelism = spec.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function jobDuration({ status }: Job, now: Date): string {
  if (status.startTime === undefined) return '';
  const end = status.completionTime === undefined ? now.getTime() : Date.parse(status.completionTime);
  return humanDuration(end - Date.parse(status.startTime));
}
