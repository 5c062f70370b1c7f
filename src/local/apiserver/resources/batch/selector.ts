/** A job finds its pods by its uid, unless its author insists on a selector of their own. */
import type { Job } from '../workloads/types.ts';

export function addJobSelector(job: Job): void {
  const { spec, metadata } = job;
  // Not overwritten when it is already there: validation tells the author that it may not be.
  if (spec.manualSelector === true || spec.selector !== undefined) return;
  const uid = metadata.uid ?? '';
  const name = metadata.name ?? '';
  spec.template ??= {};
  spec.template.metadata ??= {};
  spec.template.metadata.labels = {
    ...spec.template.metadata.labels,
    'controller-uid': uid,
    'batch.kubernetes.io/controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/job-name': name,
  };
  spec.selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}
