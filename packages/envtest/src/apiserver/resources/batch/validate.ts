/** Validation of Jobs and CronJobs. */

import { type FieldError, fieldError } from '@tidegate/serving';
import { scheduleProblem } from '../../../cron/schedule.ts';
import { internalTemplate } from '../pod/internal-spec.ts';
import { validatePodTemplate } from '../pod/validate.ts';
import { nonNegative, oneOf, supported } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE, isDNS1123Label } from '../validation/names.ts';
import {
  printableSelector,
  selectorMatches,
  sortedLabels,
  validateLabelSelector,
} from '../validation/selectors.ts';
import type { CronJob, Job, JobSpec } from '../workloads/types.ts';
import { ownLabels } from './selector.ts';

const MAX_CRON_NAME = 52;
const INDEXED_ONLY = 'requires indexed completion mode';

export function validateJob(job: Job): FieldError[] {
  const { spec, metadata } = job;
  const { selector, template = {} } = spec;
  const last = `${metadata.name}-${(spec.completions ?? 0) - 1}`;
  const badHost =
    spec.completionMode === 'Indexed' && (spec.completions ?? 0) > 0 && isDNS1123Label(last).length > 0;
  const labels = template.metadata?.labels;
  const selected = selector !== undefined && selectorMatches(selector, labels);
  const broken = validateLabelSelector(selector, 'spec.selector');
  return [
    ...validateGeneratedSelector(job),
    ...validateJobSpec(spec, 'spec'),
    ...(selector === undefined ? [fieldError.required('spec.selector')] : broken),
    ...(selected || broken.length > 0
      ? []
      : [
          fieldError.invalid(
            'spec.template.metadata.labels',
            sortedLabels(labels),
            '`selector` does not match template `labels`',
          ),
        ]),
    ...(badHost
      ? [
          fieldError.invalid(
            'metadata.name',
            metadata.name,
            `will not able to create pod with invalid DNS label: ${last}`,
          ),
        ]
      : []),
  ];
}

function validateGeneratedSelector(job: Job): FieldError[] {
  const { spec } = job;
  if (spec.manualSelector === true || spec.selector === undefined) return [];
  const labels = spec.template?.metadata?.labels;
  const expected = ownLabels(job);
  const errors = Object.entries(expected).flatMap(([key, value]) => {
    const path = `spec.template.metadata.labels[${key}]`;
    const detail = `must be '${value}'`;
    if (labels?.[key] === undefined) return [fieldError.required(path, detail)];
    return labels[key] === value ? [] : [fieldError.invalid(path, sortedLabels(labels), detail)];
  });
  if (!selectorMatches(spec.selector, expected)) {
    errors.push(
      fieldError.invalid('spec.selector', printableSelector(spec.selector), '`selector` not auto-generated'),
    );
  }
  return errors;
}

function validateJobSpec(spec: JobSpec, path: string): FieldError[] {
  const { maxFailedIndexes, backoffLimitPerIndex, template = {} } = spec;
  return [
    ...nonNegative(`${path}.parallelism`, spec.parallelism),
    ...nonNegative(`${path}.completions`, spec.completions),
    ...nonNegative(`${path}.activeDeadlineSeconds`, spec.activeDeadlineSeconds),
    ...nonNegative(`${path}.backoffLimit`, spec.backoffLimit),
    ...nonNegative(`${path}.ttlSecondsAfterFinished`, spec.ttlSecondsAfterFinished),
    ...nonNegative(`${path}.backoffLimitPerIndex`, backoffLimitPerIndex),
    ...nonNegative(`${path}.maxFailedIndexes`, maxFailedIndexes),
    ...(maxFailedIndexes !== undefined && backoffLimitPerIndex === undefined
      ? [fieldError.required(`${path}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified')]
      : []),
    ...validateCompletionMode(spec, path),
    ...supported(
      `${path}.podReplacementPolicy`,
      spec.podReplacementPolicy,
      spec.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'],
    ),
    ...validatePodTemplate(template, `${path}.template`),
    ...validateRestartPolicy(spec, `${path}.template.spec.restartPolicy`),
  ];
}

function validateCompletionMode(spec: JobSpec, path: string): FieldError[] {
  const { completionMode, backoffLimitPerIndex, maxFailedIndexes } = spec;
  const errors = supported(`${path}.completionMode`, completionMode, ['NonIndexed', 'Indexed']);
  if (completionMode === 'Indexed') {
    if (spec.completions === undefined) {
      errors.push(fieldError.required(`${path}.completions`, 'when completion mode is Indexed'));
    }
    return errors;
  }
  if (completionMode !== undefined && completionMode !== 'NonIndexed') return errors;
  for (const [field, value] of Object.entries({ backoffLimitPerIndex, maxFailedIndexes })) {
    if (value !== undefined) errors.push(fieldError.invalid(`${path}.${field}`, value, INDEXED_ONLY));
  }
  return errors;
}

function validateRestartPolicy({ template, podFailurePolicy }: JobSpec, path: string): FieldError[] {
  const policy = template?.spec?.restartPolicy ?? '';
  if (policy === 'Always' || policy === '') {
    return [fieldError.required(path, 'valid values: "OnFailure", "Never"')];
  }
  if (policy !== 'OnFailure' && policy !== 'Never') {
    return [fieldError.notSupported(path, policy, ['OnFailure', 'Never'])];
  }
  return podFailurePolicy !== undefined && policy !== 'Never'
    ? [fieldError.invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : [];
}

export function validateJobUpdate({ spec }: Job, { spec: old }: Job): FieldError[] {
  const fixed = (field: keyof JobSpec): FieldError[] =>
    semanticallyEqual(spec[field], old[field])
      ? []
      : [fieldError.invalid(`spec.${field}`, spec[field] ?? null, IMMUTABLE)];
  const elastic = spec.completionMode === 'Indexed' && spec.completions === spec.parallelism;
  return [
    ...(elastic ? [] : fixed('completions')),
    ...fixed('selector'),
    // A suspended job has not created pods yet, so its template can change.
    ...(old.suspend === true || semanticallyEqual(spec.template, old.template)
      ? []
      : [fieldError.invalid('spec.template', internalTemplate(spec.template ?? {}), IMMUTABLE)]),
    ...fixed('completionMode'),
    ...fixed('podFailurePolicy'),
    ...fixed('backoffLimitPerIndex'),
    ...fixed('managedBy'),
    ...fixed('successPolicy'),
  ];
}

export function validateCronJob({ metadata, spec }: CronJob, old?: CronJob): FieldError[] {
  const { name = '' } = metadata;
  const { selector, manualSelector } = spec.jobTemplate?.spec ?? {};
  const template = 'spec.jobTemplate.spec';
  return [
    ...validateSchedule(spec.schedule ?? ''),
    ...nonNegative('spec.startingDeadlineSeconds', spec.startingDeadlineSeconds),
    ...validateTimeZone(spec.timeZone),
    ...oneOf('spec.concurrencyPolicy', spec.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']),
    ...validateJobSpec(spec.jobTemplate?.spec ?? {}, template),
    ...(selector
      ? [fieldError.invalid(`${template}.selector`, selector, '`selector` will be auto-generated')]
      : []),
    ...(manualSelector
      ? [fieldError.notSupported(`${template}.manualSelector`, true, ['nil', 'false'])]
      : []),
    ...nonNegative('spec.successfulJobsHistoryLimit', spec.successfulJobsHistoryLimit),
    ...nonNegative('spec.failedJobsHistoryLimit', spec.failedJobsHistoryLimit),
    ...(old === undefined && name.length > MAX_CRON_NAME
      ? [fieldError.invalid('metadata.name', name, `must be no more than ${MAX_CRON_NAME} characters`)]
      : []),
  ];
}

function validateSchedule(schedule: string): FieldError[] {
  const path = 'spec.schedule';
  if (schedule === '') return [fieldError.required(path)];
  const problem = scheduleProblem(schedule);
  const zoned = 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead';
  return [
    ...(problem === undefined ? [] : [fieldError.invalid(path, schedule, problem)]),
    ...(schedule.includes('TZ') ? [fieldError.invalid(path, schedule, zoned)] : []),
  ];
}

function validateTimeZone(timeZone: string | undefined): FieldError[] {
  if (timeZone === undefined) return [];
  const wrong = (detail: string): FieldError[] => [fieldError.invalid('spec.timeZone', timeZone, detail)];
  if (timeZone === '') return wrong('timeZone must be nil or non-empty string');
  if (timeZone.toLowerCase() === 'local') {
    return wrong('timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones');
  }
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return [];
  } catch {
    return wrong(`unknown time zone ${timeZone}`);
  }
}
