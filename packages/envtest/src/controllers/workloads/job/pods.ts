import { hasFinalizer, type Job, type Pod } from '@tidegate/kube';
import type { Container } from 'kubernetes-types/core/v1.d.ts';
import { isTerminating, podFromTemplate } from '../../pods/index.ts';

/** Prevents that a pod disappears before its Job has counted it (KEP-2307). */
export const TRACKING_FINALIZER = 'batch.kubernetes.io/job-tracking';
const COMPLETION_INDEX = 'batch.kubernetes.io/job-completion-index';
const INDEX_VARIABLE = 'JOB_COMPLETION_INDEX';
/** The API server appends five characters to generateName. */
const MAX_PREFIX = 58;

/**
 * Whether the pod must still be counted: the finalizer keeps it until its end is recorded in the status of the Job.
 */
export const isTracked = (pod: Pod): boolean => hasFinalizer(pod, TRACKING_FINALIZER);

/** Whether each pod of the Job works on an index of its own. */
export const isIndexed = ({ spec }: Job): boolean => spec?.completionMode === 'Indexed';

/** Undefined when the pod has no index, or one that is outside the range of the Job. */
export function completionIndex(job: Job, pod: Pod): number | undefined {
  const index = Number(pod.metadata.annotations?.[COMPLETION_INDEX] ?? Number.NaN);
  return Number.isInteger(index) && index >= 0 && index < (job.spec?.completions ?? 0) ? index : undefined;
}

/** Whether a terminating pod is replaced only after it has ended (KEP-3939). */
export const replacesOnlyFailed = ({ spec }: Job): boolean =>
  spec?.podReplacementPolicy === 'Failed' || spec?.podFailurePolicy !== undefined;

/** All containers of the pod have ended with success. */
export const isSucceeded = (pod: Pod): boolean => pod.status?.phase === 'Succeeded';

/** A pod that is deleted counts as failed, because it may never report its end itself. */
export const isFailed = (job: Job, pod: Pod): boolean =>
  pod.status?.phase === 'Failed' || (isTerminating(pod) && !isSucceeded(pod) && !replacesOnlyFailed(job));

/** Terminating and not finished yet. */
export const isEnding = (pod: Pod): boolean =>
  isTerminating(pod) && !isSucceeded(pod) && pod.status?.phase !== 'Failed';

/** When the pod finished, in milliseconds, as precisely as its status shows. */
export function finishedAt({ metadata, status }: Pod): number {
  const ends = (status?.containerStatuses ?? []).map(({ state }) => state?.terminated?.finishedAt);
  const unready = status?.conditions?.find((c) => c.type === 'Ready' && c.status === 'False');
  if (ends.length > 0 && ends.every((end) => end !== undefined)) {
    return Math.max(...ends.map((end) => Date.parse(end!)));
  }
  if (unready?.lastTransitionTime !== undefined) return Date.parse(unready.lastTransitionTime);
  if (metadata.deletionTimestamp !== undefined) {
    return Date.parse(metadata.deletionTimestamp) - (metadata.deletionGracePeriodSeconds ?? 0) * 1000;
  }
  return Date.parse(metadata.creationTimestamp ?? '');
}

/** A pod of the Job, with the tracking finalizer and, in an indexed Job, with its index. */
export function newPod(job: Job, index: number | undefined): Pod {
  const template = job.spec!.template;
  const finalizers = template.metadata?.finalizers?.includes(TRACKING_FINALIZER) ? [] : [TRACKING_FINALIZER];
  if (index === undefined) return podFromTemplate(job, template, { finalizers });
  const name = job.metadata.name ?? '';
  const mark = { [COMPLETION_INDEX]: String(index) };
  const pod = podFromTemplate(job, template, { finalizers, labels: mark, annotations: mark });
  const ending = `-${index}-`;
  pod.metadata.generateName = name.slice(0, MAX_PREFIX - ending.length) + ending;
  pod.spec = {
    ...pod.spec,
    hostname: `${name}-${index}`,
    initContainers: pod.spec?.initContainers?.map(withIndex),
    containers: pod.spec!.containers.map(withIndex),
  };
  return pod;
}

function withIndex(container: Container): Container {
  const { env = [] } = container;
  if (env.some(({ name }) => name === INDEX_VARIABLE)) return container;
  const fieldRef = { fieldPath: `metadata.labels['${COMPLETION_INDEX}']` };
  return { ...container, env: [...env, { name: INDEX_VARIABLE, valueFrom: { fieldRef } }] };
}
