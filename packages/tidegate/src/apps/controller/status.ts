import { type Condition, type ConditionUpdate, setCondition } from '@tidegate/kube';
import type {
  EdgeApplication,
  EdgeApplicationStatus,
  ManifestStatus,
  ResourceIdentifier,
  RolloutPhase,
  RolloutStatus,
  WorkloadStatus,
} from '../../api/index.ts';
import type { RenderError } from '../render/result.ts';
import { distinctErrors } from '../validate.ts';
import type { Availability } from './availability-result.ts';
import { type DriftOutcome, driftCondition, MAX_DRIFT } from './drift-status.ts';
import { inText, nameOf } from './messages.ts';
import { withinLimit } from './status-size.ts';

/** The state of one object, or of a manifest that could not be rendered. */
export interface Outcome extends Availability, DriftOutcome {
  /** A message for the user that does not affect availability. */
  readonly warning?: string;
}

/** The result of a reconcile: all that the status is computed from. */
export interface Findings {
  readonly outcomes: readonly Outcome[];
  readonly errors: readonly RenderError[];
  readonly missing: readonly { pool: string; path: string }[];
  /** Of an application with a rollout. */
  readonly rollout?: RolloutStatus;
}

/** Identifies an object without the ordinal, so that it keeps its entry when manifests are reordered. */
export const identityOfIdentifier = ({
  group = '',
  kind,
  namespace = '',
  name,
  ordinal,
}: ResourceIdentifier) =>
  name === undefined ? `manifest ${ordinal}` : `${group}/${kind} ${namespace}/${name}`;

/** Computes the status. Keeps the transition times of conditions that did not change. */
export function statusOf(
  { metadata, spec, status }: EdgeApplication,
  findings: Findings,
  now: number,
): EdgeApplicationStatus {
  const { generation } = metadata;
  const old = new Map(
    (status?.manifestStatuses ?? []).map((entry) => [identityOfIdentifier(entry.identifier), entry]),
  );
  const manifestStatuses = findings.outcomes
    .toSorted(byPlace)
    .map((outcome) => entryOf(outcome, old.get(identityOfIdentifier(outcome.identifier)), now));
  const ready: ConditionUpdate = {
    type: 'Ready',
    ...readiness(findings),
    ...(generation !== undefined && { observedGeneration: generation }),
  };
  const drifted = driftCondition(spec.driftPolicy, findings.outcomes);
  const updates = drifted === undefined ? [ready] : [ready, drifted];
  const kept: readonly Condition[] =
    status?.conditions?.filter(({ type }) => updates.some((update) => update.type === type)) ?? [];
  return withinLimit({
    ...(generation !== undefined && { observedGeneration: generation }),
    manifestStatuses,
    workloadStatus: findings.outcomes.toSorted(byPlace).map(workloadStatusOf),
    ...(findings.rollout && { rollout: findings.rollout }),
    conditions: [...updates.reduce((all, update) => setCondition(all, update, now), kept)],
  });
}

/** The releases of KubeEdge have one word for each object. */
const workloadStatusOf = ({ identifier: { uid: _, ...identifier }, available }: Outcome): WorkloadStatus => ({
  identifier,
  conditions: available ? 'Available' : 'Processing',
});

/** The reason of objects that do not exist yet and are about to be created. */
export const PENDING = 'Pending';
/** The reason of an object that the API server did not accept. */
export const APPLY_FAILED = 'ApplyFailed';
/** The reason of an object that is no longer rendered, and that the API server did not delete. */
export const DELETE_FAILED = 'DeleteFailed';

/** The reason of an object at a site that a rollout has not reached, and whose old content is not known. */
export const HELD = 'Held';

/** An object that is about to be applied for the first time. */
export interface NewObject {
  readonly identifier: ResourceIdentifier;
  /** Whether an object with this name exists already. It is never deleted, because another client created it. */
  readonly exists: boolean;
}

/** The status before new objects are created: the current status, with an entry for each new object. */
export function pendingStatus(
  { status }: EdgeApplication,
  objects: readonly NewObject[],
  now: number,
): EdgeApplicationStatus {
  const message = 'the object is about to be applied';
  const unknown: ConditionUpdate = { type: 'Ready', status: 'Unknown', reason: PENDING, message };
  const renewed = new Set(objects.map(({ identifier }) => identityOfIdentifier(identifier)));
  return withinLimit({
    ...status,
    manifestStatuses: [
      ...(status?.manifestStatuses ?? []).filter(
        ({ identifier }) => !renewed.has(identityOfIdentifier(identifier)),
      ),
      ...objects.map(({ identifier, exists }) =>
        entryOf(
          { identifier, available: false, reason: exists ? 'Exists' : PENDING, message },
          undefined,
          now,
        ),
      ),
    ],
    conditions: status?.conditions ?? [...setCondition([], unknown, now)],
  });
}

function entryOf(outcome: Outcome, old: ManifestStatus | undefined, now: number): ManifestStatus {
  const { identifier, available, reason, warning } = outcome;
  const message = warning === undefined ? outcome.message : `${outcome.message}; ${warning}`;
  const set = (conditions: readonly Condition[], type: string, holds: boolean): readonly Condition[] =>
    setCondition(conditions, { type, status: holds ? 'True' : 'False', reason, message }, now);
  return {
    identifier,
    conditions: [...set(set(old?.conditions ?? [], 'Processing', !available), 'Available', available)],
    ...(outcome.drifting && { drift: outcome.drifting.drift.slice(0, MAX_DRIFT) }),
  };
}

type Readiness = Pick<ConditionUpdate, 'status' | 'reason' | 'message'>;

/** The condition Ready. The most important problem gives the reason: rendering, then failures, pools, progress. */
function readiness({ outcomes, errors, missing, rollout }: Findings): Readiness {
  const notReady = (reason: string, messages: readonly string[]): Readiness => ({
    status: 'False',
    reason,
    message: inText(messages),
  });
  if (errors.length > 0)
    return notReady(
      'RenderFailed',
      distinctErrors(errors).map(({ path, message }) => `${path}: ${message}`),
    );
  if (rollout?.phase === 'Stopped') return notReady(ROLLOUT_REASONS.Stopped, [rollout.message]);
  const failed = outcomes.filter(({ reason }) => FAILURES.has(reason));
  if (failed.length > 0) return notReady(failed[0]!.reason, failed.map(sentence));
  if (missing.length > 0)
    return notReady(
      'PoolMissing',
      missing.map(({ pool, path }) => `${path}: there is no NodeGroup or NodePool ${pool}`),
    );
  const waiting = outcomes.filter(({ available }) => !available);
  if (waiting.length > 0) return notReady('Progressing', waiting.map(sentence));
  if (rollout !== undefined && rollout.phase !== 'Complete')
    return notReady(ROLLOUT_REASONS[rollout.phase], [rollout.message]);
  const warnings = outcomes.filter(({ warning }) => warning !== undefined);
  const all = outcomes.length === 1 ? '1 object is available' : `${outcomes.length} objects are available`;
  return {
    status: 'True',
    reason: 'Available',
    message: inText([all, ...warnings.map(({ identifier, warning }) => `${nameOf(identifier)}: ${warning}`)]),
  };
}

/** The reasons of `Ready` for an application whose rollout is not complete. */
export const ROLLOUT_REASONS: Readonly<Record<Exclude<RolloutPhase, 'Complete'>, string>> = {
  Progressing: 'RollingOut',
  Paused: 'RolloutPaused',
  Stopped: 'RolloutStopped',
};

/** Reasons of failures, which usually need an action of the user. */
export const FAILURES: ReadonlySet<string> = new Set([
  APPLY_FAILED,
  DELETE_FAILED,
  'Refused',
  'ProgressDeadlineExceeded',
  'JobFailed',
  'PodFailed',
  'ScalingFailed',
  'SyncFailed',
  'Stalled',
  'ClaimLost',
  'NamesNotAccepted',
  // The words of kubelets. A pod that cannot be scheduled waits, for example for a node that is offline.
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'CreateContainerError',
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'RunContainerError',
]);

const sentence = ({ identifier, message }: Outcome): string => `${nameOf(identifier)}: ${message}`;

function byPlace({ identifier: a }: Outcome, { identifier: b }: Outcome): number {
  if (a.ordinal !== b.ordinal) return a.ordinal - b.ordinal;
  const [x, y] = [identityOfIdentifier(a), identityOfIdentifier(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}
