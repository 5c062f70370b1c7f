/** The status of an application of OpenYurt, from what its EdgeApplication reports and from its workloads. Pure. */
import {
  type Condition,
  type ConditionUpdate,
  type Deployment,
  getCondition,
  type StatefulSet,
  setCondition,
} from '@tidegate/kube';
import {
  type EdgeApplication,
  type ManifestStatus,
  POOL_NAME_LABEL,
  type WorkloadSummary,
  type YurtAppDaemonStatus,
  type YurtAppSetStatus,
} from '../api/index.ts';
import { availabilityOf } from '../apps/index.ts';
import { isBeta, isYurtAppSet, type YurtApp } from './template.ts';
import type { Translation } from './translate.ts';

export type Workload = Deployment | StatefulSet;

/** What a reconcile has found. */
export interface Findings {
  readonly translation: Translation;
  /** Why the EdgeApplication could not be written. */
  readonly failure: { reason: string; message: string } | undefined;
  readonly application: EdgeApplication | undefined;
  readonly workloads: readonly Workload[];
  readonly revision: { name: string; collisions: number } | undefined;
  readonly overrider: string | undefined;
}

/** Reasons of objects that do not have the current spec. */
const NOT_UPDATED = new Set([
  'ApplyFailed',
  'Refused',
  'Kept',
  'RenderFailed',
  'PoolMissing',
  'Pending',
  'Held',
]);

/** What the conditions are computed from. */
interface Counts {
  readonly wanted: number;
  readonly existing: number;
  readonly updated: number;
  readonly ready: number;
  /** Workloads of pools that are no longer selected. */
  readonly unwanted: number;
  /** The first problem, in words. */
  readonly problem: { reason: string; message: string } | undefined;
}

export function statusOf(
  app: YurtApp,
  findings: Findings,
  now: number,
): YurtAppSetStatus & YurtAppDaemonStatus {
  const { translation, workloads, revision, overrider } = findings;
  const counts = count(findings);
  const { generation } = app.metadata;
  const old = app.status?.conditions ?? [];
  const currentRevision = revision?.name ?? app.status?.currentRevision;
  const collisionCount = revision?.collisions ?? app.status?.collisionCount;
  const conditions = conditionsOf(app, counts, translation).reduce<readonly Condition[]>(
    (all, update) =>
      setCondition(all, { ...update, ...(generation && { observedGeneration: generation }) }, now),
    old,
  );
  const shared = {
    ...(generation !== undefined && { observedGeneration: generation }),
    ...(collisionCount !== undefined && { collisionCount }),
    ...(currentRevision !== undefined && { currentRevision }),
    conditions: [...conditions],
    ...(overrider !== undefined && { overriderRef: overrider }),
    ...(translation.type !== undefined && { templateType: translation.type }),
  };
  if (!isYurtAppSet(app))
    return { ...shared, workloadSummary: workloads.map(summaryOf), nodepools: [...translation.pools] };
  const totals = {
    totalWorkloads: counts.existing,
    readyWorkloads: counts.ready,
    updatedWorkloads: counts.updated,
  };
  if (isBeta(app)) return { ...shared, ...totals };
  return {
    ...shared,
    ...totals,
    workloadSummary: workloads.map(summaryOf),
    replicas: sum(workloads.map(({ status }) => status?.replicas ?? 0)),
    readyReplicas: sum(workloads.map(({ status }) => status?.readyReplicas ?? 0)),
    poolReplicas: Object.fromEntries(
      workloads.map((workload) => [poolOf(workload), workload.status?.replicas ?? 0]),
    ),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const poolOf = ({ metadata }: Workload): string => metadata.labels?.[POOL_NAME_LABEL] ?? '';

const summaryOf = (workload: Workload): WorkloadSummary => ({
  availableCondition: availabilityOf(workload).available ? 'True' : 'False',
  replicas: workload.status?.replicas ?? 0,
  readyReplicas: workload.status?.readyReplicas ?? 0,
  workloadName: `${workload.metadata.name}`,
});

function count({ translation, failure, application, workloads }: Findings): Counts {
  const pools = new Set(translation.pools);
  const existing = workloads.filter((workload) => pools.has(poolOf(workload)));
  const observed =
    failure === undefined &&
    translation.errors.length === 0 &&
    application?.metadata.generation !== undefined &&
    application.status?.observedGeneration === application.metadata.generation;
  const entries = new Map(
    (application?.status?.manifestStatuses ?? []).map((entry) => [entry.identifier.name, entry]),
  );
  const isUpdated = ({ metadata }: Workload): boolean =>
    observed && hasCurrentSpec(entries.get(`${metadata.name}`));
  const updated = existing.filter(isUpdated);
  const ready = getCondition(application?.status?.conditions, 'Ready');
  const [error] = translation.errors;
  const problem =
    failure ??
    (error && { reason: 'InvalidSpec', message: `${error.path}: ${error.message}` }) ??
    (ready?.status === 'False' ? { reason: ready.reason, message: ready.message } : undefined);
  return {
    wanted: pools.size,
    existing: existing.length,
    updated: Math.min(updated.length, sitesWithRevision(application)),
    ready: existing.filter((workload) => availabilityOf(workload).available).length,
    unwanted: workloads.length - existing.length,
    problem,
  };
}

/** During a rollout, some sites still have an older revision. */
const sitesWithRevision = (application: EdgeApplication | undefined): number =>
  application?.status?.rollout?.updatedSites ?? Number.POSITIVE_INFINITY;

/** Entries of a large application have no conditions if they are available. */
const hasCurrentSpec = (entry: ManifestStatus | undefined): boolean =>
  entry !== undefined && !(entry.conditions ?? []).some(({ reason }) => NOT_UPDATED.has(reason));

function conditionsOf(app: YurtApp, counts: Counts, { pools }: Translation): ConditionUpdate[] {
  const { wanted, existing, updated, ready, unwanted, problem } = counts;
  const failed = problem !== undefined && existing < wanted;
  const condition = (
    type: string,
    holds: boolean,
    [reason, otherwise]: [string, string],
    message: string,
  ): ConditionUpdate => ({
    type,
    status: holds ? 'True' : 'False',
    reason: holds ? reason : (problem?.reason ?? otherwise),
    message: holds ? message : problem === undefined ? message : `${message}; ${problem.message}`,
  });
  const found: ConditionUpdate = {
    type: 'PoolFound',
    status: wanted > 0 ? 'True' : 'False',
    reason: wanted > 0 ? 'PoolsFound' : 'NoPoolsFound',
    message: wanted > 0 ? poolText(pools) : 'no NodePool is named or has the labels of nodepoolSelector',
  };
  const dispatched = (type: string) =>
    condition(
      type,
      existing === wanted && !failed,
      ['Created', 'Creating'],
      `${existing} of ${wanted} workloads exist`,
    );
  const upToDate = (type: string) =>
    condition(
      type,
      updated === wanted,
      ['Updated', 'Updating'],
      `${updated} of ${wanted} workloads have the current spec`,
    );
  const failure = (type: string): ConditionUpdate => ({
    type,
    status: problem === undefined || problem.reason === 'Progressing' ? 'False' : 'True',
    reason: problem?.reason ?? 'NoFailure',
    message: problem?.message ?? '',
  });
  if (!isYurtAppSet(app))
    return [dispatched('WorkLoadProvisioned'), upToDate('WorkLoadUpdated'), failure('WorkLoadFailure')];
  const deleted = condition(
    'AppDeleted',
    unwanted === 0,
    ['Deleted', 'Deleting'],
    unwanted === 0 ? 'no workload of another pool exists' : `${unwanted} workloads of other pools exist`,
  );
  const isReady = condition(
    'AppReady',
    ready === wanted && wanted > 0,
    ['Ready', 'NotReady'],
    `${ready} of ${wanted} workloads are available`,
  );
  const beta = [found, dispatched('AppDispatched'), deleted, upToDate('AppUpdated'), isReady];
  if (isBeta(app)) return beta;
  return [...beta, dispatched('PoolProvisioned'), upToDate('PoolUpdated'), failure('PoolFailure')];
}

const MOST_NAMED = 10;

function poolText(pools: readonly string[]): string {
  const named = pools.slice(0, MOST_NAMED).join(', ');
  const rest = pools.length - MOST_NAMED;
  return `${pools.length} NodePools: ${named}${rest > 0 ? ` and ${rest} more` : ''}`;
}
