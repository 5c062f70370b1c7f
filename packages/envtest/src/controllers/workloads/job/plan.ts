import type { Job, Pod } from '@tidegate/kube';
import type { JobStatus } from 'kubernetes-types/batch/v1.d.ts';
import { isActive, isReady } from '../../pods/index.ts';
import type { Note } from '../notes.ts';
import { timestamp } from '../timestamp.ts';
import { decidedOutcome, type Outcome, withCondition, withInterim, withOutcome } from './conditions.ts';
import { type PodChange, planPods } from './plan-pods.ts';
import { isEnding, isTracked } from './pods.ts';
import { countReleased, isAllCounted, noteEnded, type Tally, tally } from './tracking.ts';

export interface Observed {
  job: Job;
  /** All pods of the job; one whose finalizer this controller has taken away is shown without it. */
  pods: readonly Pod[];
  /** Whether the pods show all that this controller did to them. */
  settled: boolean;
  now: number;
}

export interface JobPlan {
  /** One pod for each: its completion index, or undefined in a job without indexes. */
  creates: (number | undefined)[];
  /** To be deleted without counting: too many, or the job is suspended. */
  removes: Pod[];
  /** To be deleted because the job is over; they count. */
  deletes: Pod[];
  /** To be written once the pods above are dealt with, and before any finalizer goes. */
  status: JobStatus;
  release: Pod[];
  notes: Note[];
  requeueAfter?: number;
  /** How the job ends, if it does; and whether all its pods are among those released now. */
  outcome?: Outcome;
  complete: boolean;
}

const COMPLETIONS_REACHED: Outcome = {
  type: 'Complete',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
};

/** What a job that is not finished needs now. `concludeJob` says what follows. */
export function planJob(observed: Observed): JobPlan {
  const { job, pods, settled, now } = observed;
  const notes = job.status?.startTime === undefined ? unsupported(job) : [];
  const active = pods.filter(isActive);
  const counted = started(job, countReleased(job.status ?? {}, trackedUids(pods)), now);
  const counts = tally(job, counted, pods);
  const ending = decidedOutcome(job) ?? failureOf(observed, counted, counts);
  // While the cache lacks pods, some might be left behind.
  if (ending !== undefined && !settled) return { ...idle(observed, counted, active), notes };
  if (ending !== undefined) return finishing(observed, counted, active, ending, notes);

  const mayChange = settled && job.metadata.deletionTimestamp === undefined;
  const change: PodChange = mayChange ? planPods(job, pods, counts, now) : { creates: [], removes: [] };
  const remaining = active.filter((pod) => !change.removes.includes(pod));
  const running = remaining.length + change.creates.length;
  const outcome = settled && running === 0 && isReached(job, counts) ? COMPLETIONS_REACHED : undefined;
  if (outcome !== undefined) return finishing(observed, counted, active, outcome, notes);

  const suspended = mayChange ? suspension(job, counted, now, notes) : counted;
  const { status, release, complete } = noteEnded(job, suspended, pods, undefined);
  const terminating = pods.filter(isEnding).length + change.removes.length;
  return {
    creates: change.creates,
    removes: change.removes,
    deletes: [],
    status: { ...status, active: running || undefined, ready: remaining.filter(isReady).length, terminating },
    release,
    complete,
    notes,
    requeueAfter: nextLook(observed, counted, change.waitMs),
  };
}

/** What the status says after the finalizers are gone from all pods but those whose uids are `tracked`. */
export function concludeJob(
  job: Job,
  { status, outcome, complete }: Pick<JobPlan, 'status' | 'outcome' | 'complete'>,
  tracked: ReadonlySet<string>,
  now: number,
): { status: JobStatus; notes: Note[] } {
  const counted = countReleased(status, tracked);
  const isOver = complete && isAllCounted(counted) && (status.terminating ?? 0) === 0;
  if (outcome === undefined || !isOver) return { status: counted, notes: [] };
  const notes: Note[] = [];
  if (outcome.type === 'Failed') {
    notes.push({ type: 'warning', reason: outcome.reason, message: outcome.message });
  } else {
    if ((counted.succeeded ?? 0) > (job.spec?.completions ?? Number.POSITIVE_INFINITY)) {
      const message = 'Too many succeeded pods running after completion count reached';
      notes.push({ type: 'warning', reason: 'TooManySucceededPods', message });
    }
    notes.push({ type: 'normal', reason: 'Completed', message: 'Job completed' });
  }
  return { status: withOutcome(counted, outcome, now), notes };
}

export const trackedUids = (pods: readonly Pod[]): Set<string> =>
  new Set(pods.filter(isTracked).map((pod) => pod.metadata.uid ?? ''));

function started({ spec }: Job, status: JobStatus, now: number): JobStatus {
  if (status.startTime !== undefined || spec?.suspend === true) return status;
  return { ...status, startTime: timestamp(now) };
}

/** Better said than silently ignored. */
function unsupported({ spec }: Job): Note[] {
  const { podFailurePolicy, backoffLimitPerIndex, maxFailedIndexes, successPolicy } = spec ?? {};
  const fields = Object.entries({ podFailurePolicy, backoffLimitPerIndex, maxFailedIndexes, successPolicy })
    .filter(([, value]) => value !== undefined)
    .map(([field]) => `spec.${field}`);
  if (fields.length === 0) return [];
  const message = `This cluster does not act on ${fields.join(', ')}`;
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

/** Where the kubelet restarts containers in their pod, its restarts are the failures. */
function restartsExceed(limit: number, restartPolicy: string | undefined, pods: readonly Pod[]): boolean {
  if (restartPolicy !== 'OnFailure') return false;
  const restarts = pods
    .filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending')
    .flatMap(({ status }) => [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])])
    .reduce((sum, { restartCount }) => sum + restartCount, 0);
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

/** Without a number of completions, one success says that there is no more work. */
const isReached = ({ spec }: Job, { succeeded }: Tally): boolean =>
  spec?.completions === undefined ? succeeded > 0 : succeeded >= spec.completions;

function finishing(
  { job, pods, now }: Observed,
  counted: JobStatus,
  active: Pod[],
  outcome: Outcome,
  notes: Note[],
): JobPlan {
  const { status, release, complete } = noteEnded(job, withInterim(counted, outcome, now), pods, outcome);
  const terminating = pods.filter(isEnding).length + active.length;
  return {
    creates: [],
    removes: [],
    deletes: active,
    status: { ...status, active: undefined, ready: 0, terminating },
    release,
    complete,
    outcome,
    notes,
  };
}

function idle({ pods }: Observed, status: JobStatus, active: Pod[]): Omit<JobPlan, 'notes'> {
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

/** The clock of `activeDeadlineSeconds` stands still while a job is suspended, and starts anew when it goes on. */
function suspension({ spec }: Job, status: JobStatus, now: number, notes: Note[]): JobStatus {
  const [value, reason, message] =
    spec?.suspend === true
      ? (['True', 'JobSuspended', 'Job suspended'] as const)
      : (['False', 'JobResumed', 'Job resumed'] as const);
  const next = withCondition(status, { type: 'Suspended', status: value, reason, message }, now);
  if (next === status) return status;
  notes.push({ type: 'normal', reason: value === 'True' ? 'Suspended' : 'Resumed', message });
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
