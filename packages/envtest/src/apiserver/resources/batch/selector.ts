/** A job selects its pods by its uid, unless its manifest sets `manualSelector`. */
import type { Job } from '../workloads/types.ts';

const UID_LABEL = 'batch.kubernetes.io/controller-uid';

/** The labels that identify the pods of a job, in the order in which they are checked. */
export const ownLabels = ({ metadata }: Job): Record<string, string> => ({
  'controller-uid': metadata.uid ?? '',
  'job-name': metadata.name ?? '',
  [UID_LABEL]: metadata.uid ?? '',
  'batch.kubernetes.io/job-name': metadata.name ?? '',
});

/** Labels from the manifest are kept. Validation reports conflicts. */
export function addJobSelector(job: Job): void {
  const { spec, metadata } = job;
  if (spec.manualSelector === true) return;
  spec.template ??= {};
  spec.template.metadata ??= {};
  spec.template.metadata.labels ??= {};
  const { labels } = spec.template.metadata;
  for (const [key, value] of Object.entries(ownLabels(job))) labels[key] ??= value;
  spec.selector ??= {};
  spec.selector.matchLabels ??= {};
  spec.selector.matchLabels[UID_LABEL] ??= metadata.uid ?? '';
}
