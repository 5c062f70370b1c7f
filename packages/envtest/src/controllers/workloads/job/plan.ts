import type { Job, Pod } from '@tidegate/kube';
import type { JobStatus } from 'kubernetes-types/batch/v1.d.ts';
import { isActive, isReady } from '../../pods/index.ts';
import { timestamp } from '../../timestamp.ts';
import type { PlannedEvent } from '../planned-events.ts';
import { decidedOutcome, type Outcome, withCondition, withInterim, withOutcome } from './conditions.ts';
import { type PodChange, planPods } from './plan-pods.ts';
import { isEnding, isTracked } from './pods.ts';
import { countReleased, isAllCounted, recordEnded, type Tally, tally } from './tracking.ts';

export interface Observed {
  job: Job;
  /** All pods of the Job; a pod whose finalizer this controller has removed is shown without it. */
  pods: readonly Pod[];
  /** Whether the cache shows all pods that this controller has created and deleted. */
  settled: boolean;
  now: number;
}

export interface JobPlan {
  /** One pod each: its completion index, or undefined in a Job without indexes. */
  creates: (number | undefined)[];
  /** Pods to delete without counting them, because they are surplus or the Job is suspended. */
  removes: Pod[];
  /** Pods to delete because the Job is over; they are counted. */
  deletes: Pod[];
  /** To be written after the pods above are created and deleted, and before any finalizer is removed. */
  status: JobStatus;
  release: Pod[];
  events: PlannedEvent[];
  requeueAfter?: number;
  /** How the Job ends, if it does; `complete` is true if all its pods are in `release`. */
  outcome?: Outcome;
  complete: boolean;
}

const COMPLETIONS_REACHED: Outcome = {
  type: 'Complete',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
};

/** The next step of an unfinished Job. `concludeJob` computes what follows. */
export function planJob(observed: Observed): JobPlan {
  const { job, pods, settled, now } = observed;
  const events = job.status?.startTime === undefined ? unsupported(job) : [];
  const active = pods.filter(isActive);
  const counted = started(job, countReleased(job.status ?? {}, trackedUids(pods)), now);
  const counts = tally(job, counted, pods);
  const ending = decidedOutcome(job) ?? failureOf(observed, counted, counts);
  // While pods may be missing from the cache, do not finish: some pods would be left behind.
  if (ending !== undefined && !settled) return { ...idle(observed, counted, active), events };
  if (ending !== undefined) return finishing(observed, counted, active, ending, events);

  const mayChange = settled && job.metadata.deletionTimestamp === undefined;
  const change: PodChange = mayChange ? planPods(job, pods, counts, now) : { creates: [], removes: [] };
  const remaining = active.filter((pod) => !change.removes.includes(pod));
  const running = remaining.length + change.creates.length;
  const outcome = settled && running === 0 && isReached(job, counts) ? COMPLETIONS_REACHED : undefined;
  if (outcome !== undefined) return finishing(observed, counted, active, outcome, events);

  const suspended = mayChange ? suspension(job, counted, now, events) : counted;
  const { status, release, complete } = recordEnded(job, suspended, pods, undefined);
  const terminating = pods.filter(isEnding).length + change.removes.length;
  return {
    creates: change.creates,
    removes: change.removes,
    deletes: [],
    status: { ...status, active: running || undefined, ready: remaining.filter(isReady).length, terminating },
    release,
    complete,
    events,
    requeueAfter: nextLook(observed, counted, change.waitMs),
  };
}

/** The status after the finalizers are removed from all pods except those in `tracked`. */
export function concludeJob(
  job: Job,
  { status, outcome, complete }: Pick<JobPlan, 'status' | 'outcome' | 'complete'>,
  tracked: ReadonlySet<string>,
  now: number,
): { status: JobStatus; events: PlannedEvent[] } {
  const counted = countReleased(status, tracked);
  const isOver = complete && isAllCounted(counted) && (status.terminating ?? 0) === 0;
  if (outcome === undefined || !isOver) return { status: counted, events: [] };
  const events: PlannedEvent[] = [];
  if (outcome.type === 'Failed') {
    events.push({ type: 'warning', reason: outcome.reason, message: outcome.message });
  } else {
    if ((counted.succeeded ?? 0) > (job.spec?.completions ?? Number.POSITIVE_INFINITY)) {
      const message = 'Too many succeeded pods running after completion count reached';
      events.push({ type: 'warning', reason: 'TooManySucceededPods', message });
    }
    events.push({ type: 'normal', reason: 'Completed', message: 'Job completed' });
  }
  return { status: withOutcome(counted, outcome, now), events };
}

export const trackedUids = (pods: readonly Pod[]): Set<string> =>
  new Set(pods.filter(isTracked).map((pod) => pod.metadata.uid ?? ''));

function started({ spec }: Job, status: JobStatus, now: number): JobStatus {
  if (status.startTime !== undefined || spec?.suspend === true) return status;
  return { ...status, startTime: timestamp(now) };
}

/** Fields that the embedded cluster ignores are reported in an event. */
function unsupported({ spec }: Job): PlannedEvent[] {
  const { podFailurePolicy, backoffLimitPerIndex, maxFailedIndexes, successPolicy } = spec ?? {};
  const fields = Object.entries({ podFailurePolicy, backoffLimitPerIndex, maxFailedIndexes, successPolicy })
    .filter(([, value]) => value !== undefined)
    .map(([field]) => `spec.${field}`);
  if (fields.length === 0) return [];
  const message = `Not supported in this cluster, ignored: ${fields.join(', ')}`;
  return [{ type: 'warning', reason: 'UnsupportedField', message }];
}

function failureOf(
  { job: { spec = { template: {} } }, pods, now }: Observed,
  { startTime }: JobStatus,
  { failed }: Tally,
): Outcome | undefined {
  const { backoffLimit = 6, activeDeadlineSeconds, suspend } = spec;
  if (failed > backoffLimit || restartsExceed(backoffLimit, spec.template.spec?.restartPolicy, pods)) {
    const message = 'Job has reached the specified backoff limit';
    return { type: 'Failed', reason: 'BackoffLimitExceeded', message };
  }
  if (activeDeadlineSeconds === undefined || startTime === undefined || suspend === true) return undefined;
  if (now - Date.parse(startTime) < activeDeadlineSeconds * 1000) return undefined;
  const message = 'Job was active longer than specified deadline';
  return { type: 'Failed', reason: 'DeadlineExceeded', message };
}

/** With restartPolicy OnFailure the kubelet restarts containers in place, and these restarts count as failures. */
function restartsExceed(limit: number, restartPolicy: string | undefined, pods: readonly Pod[]): boolean {
  if (restartPolicy !== 'OnFailure') return false;
  const restarts = pods
    .filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending')
    .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** Without `completions`, one successful pod means that all work is done. */
const isReached = ({ spec }: Job, { succeeded }: Tally): boolean =>
  spec?.completions === undefined ? succeeded > 0 : succeeded >= spec.completions;

function finishing(
  { job, pods, now }: Observed,
  counted: JobStatus,
  active: Pod[],
  outcome: Outcome,
  events: PlannedEvent[],
): JobPlan {
  const { status, release, complete } = recordEnded(job, withInterim(counted, outcome, now), pods, outcome);
  const terminating = pods.filter(isEnding).length + active.length;
  return {
    creates: [],
    removes: [],
    deletes: active,
    status: { ...status, active: undefined, ready: 0, terminating },
    release,
    complete,
    outcome,
    events,
  };
}

function idle({ pods }: Observed, status: JobStatus, active: Pod[]): Omit<JobPlan, 'events'> {
  const ready = active.filter(isReady).length;
  const terminating = pods.filter(isEnding).length;
  return {
    creates: [],
    removes: [],
    deletes: [],
    status: { ...status, active: active.length || undefined, ready, terminating },
    release: [],
    complete: false,
  };
}

/** `activeDeadlineSeconds` does not count while a Job is suspended, and restarts when it is resumed. */
function suspension({ spec }: Job, status: JobStatus, now: number, events: PlannedEvent[]): JobStatus {
  const [value, reason, message] =
    spec?.suspend === true
      ? (['True', 'JobSuspended', 'Job suspended'] as const)
      : (['False', 'JobResumed', 'Job resumed'] as const);
  const next = withCondition(status, { type: 'Suspended', status: value, reason, message }, now);
  if (next === status) return status;
  events.push({ type: 'normal', reason: value === 'True' ? 'Suspended' : 'Resumed', message });
  return { ...next, startTime: value === 'True' ? undefined : timestamp(now) };
}

function nextLook(
  { job, now }: Observed,
  { startTime }: JobStatus,
  waitMs: number | undefined,
): number | undefined {
  const { activeDeadlineSeconds, suspend } = job.spec ?? {};
  if (activeDeadlineSeconds === undefined || startTime === undefined || suspend === true) return waitMs;
  const deadlineMs = Date.parse(startTime) + activeDeadlineSeconds * 1000 - now;
  return Math.min(deadlineMs, waitMs ?? Number.POSITIVE_INFINITY);
}
