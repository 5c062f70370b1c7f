import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  addFinalizer,
  Controller,
  type ControllerContext,
  hasFinalizer,
  isBeingDeleted,
  type KubeObject,
  keyOf,
  NODES,
  type Node,
  type ReconcileResult,
  type Resource,
} from '@tidegate/kube';
import {
  APPS_FIELD_MANAGER,
  EDGE_APPLICATION_FINALIZER,
  EDGE_APPLICATIONS,
  type EdgeApplication,
  NODE_GROUP_LABEL,
  NODE_GROUPS,
  NODE_POOLS,
  type NodeGroup,
  type NodePool,
  type RolloutStatus,
} from '../../api/index.ts';
import { type KindOfPool, kindByAge, targetsOf } from '../render/targets.ts';
import { type RevisionContent, RevisionContents } from '../rollout/contents.ts';
import { msToDeadline, planRollout } from '../rollout/plan.ts';
import type { Stage } from '../rollout/staged.ts';
import { hasLabelTargets, nodesIn, selectsLabels } from '../target-nodes.ts';
import { ApplicationPods } from './application-pods.ts';
import { AppliedCache } from './applied-cache.ts';
import { Children } from './children.ts';
import { finalize, isOrphaning } from './finalize.ts';
import { groupKinds, Kinds } from './kinds.ts';
import { ownerOf } from './ownership.ts';
import { reconcileObjects, type Tools } from './reconcile-objects.ts';
import { APPLY_FAILED, DELETE_FAILED } from './status.ts';
import { StatusWriter } from './status-writer.ts';

/** An apply that the API server rejected can succeed later, for example when a namespace or a quota was created. */
const RETRY_MS = 15_000;
const RETRIED_REASONS = new Set([APPLY_FAILED, DELETE_FAILED, 'Refused']);

interface Definition extends KubeObject {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string; readonly kind: string };
  };
}

const DEFINITIONS: Resource<Definition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};

const TARGETS_INDEX = 'apps/targets';
/** The applications that select nodes by label. */
const LABELS_INDEX = 'apps/target-labels';
/** The applications by the kinds of their manifests. A CustomResourceDefinition that comes or goes concerns those with its kind. */
const KINDS_INDEX = 'apps/kinds';
const targetNames = ({ spec }: EdgeApplication): string[] =>
  (spec.workloadScope?.targetNodeGroups ?? []).map(({ name }) => name);

/** Creates the controller for EdgeApplications: it applies their objects, corrects drift, and deletes the objects. */
export function applicationController(context: ControllerContext): Controller {
  const { client, informers, recorder, clock } = context;
  const applications = informers.for(EDGE_APPLICATIONS);
  applications.addIndex(TARGETS_INDEX, targetNames);
  applications.addIndex(LABELS_INDEX, (application) => (hasLabelTargets(application) ? ['any'] : []));
  applications.addIndex(KINDS_INDEX, groupKinds);
  const [groups, pools] = [informers.for(NODE_GROUPS), informers.for(NODE_POOLS)];
  const nodes = informers.for(NODES);
  const applier = new Applier(client, APPS_FIELD_MANAGER);
  const statusWriter = new StatusWriter(applier, recorder, clock);
  const appliedCache = new AppliedCache();
  const revisions = new RevisionContents(client);
  const children = new Children(client, informers, (informer) => {
    controller.watch(informer, (child) => [ownerOf(child)].filter((owner) => owner !== undefined));
  });
  const pods = new ApplicationPods(informers, (key) => controller.enqueue(key));
  const tools: Tools = { client, applier, children, appliedCache, pods, recorder, statusWriter };
  /**
   * Keys of applications that are deleted with `--cascade=orphan`. The garbage collector removes the finalizer `orphan`
   * soon, possibly before the next reconcile. So an event handler records it when the informer sees it.
   */
  const orphaning = new Set<string>();

  const kindOfPool: KindOfPool = (name, wanted) =>
    kindByAge(
      { NodeGroup: createdAt(groups.cache.get(name)), NodePool: createdAt(pools.cache.get(name)) },
      wanted,
    );
  const nodesWith = nodesIn(() => nodes.cache.list());

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const cached = applications.cache.get(key);
    if (cached === undefined) {
      for (const memory of [statusWriter, appliedCache, revisions]) memory.forget(key);
      orphaning.delete(key);
      return undefined;
    }
    const application = statusWriter.newest(cached);
    return isBeingDeleted(application) ? remove(application, signal) : make(application, signal);
  }

  async function make(
    application: EdgeApplication,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    if (!hasFinalizer(application, EDGE_APPLICATION_FINALIZER))
      await addFinalizer(client, EDGE_APPLICATIONS, application, EDGE_APPLICATION_FINALIZER, { signal });
    const stage = await stageOf(application, signal);
    const older = [...(stage?.contents.values() ?? [])].flatMap(
      ({ workloadTemplate }) => workloadTemplate?.manifests ?? [],
    );
    const kinds = await Kinds.of(application, client.discovery, older);
    const findings = await reconcileObjects(
      tools,
      application,
      kinds,
      { kindOfPool, nodesWith },
      { stage, now: clock.now() },
      signal,
    );
    const again = kinds.hasUnknown || findings.outcomes.some(({ reason }) => RETRIED_REASONS.has(reason));
    const paced = await statusWriter.report(application, findings, signal);
    if (paced !== undefined) return paced;
    const waits = [
      ...(again ? [RETRY_MS] : []),
      ...(findings.rollout ? [msToNextStep(application, stage, findings.rollout)] : []),
    ].filter((wait) => wait !== undefined);
    return waits.length === 0 ? undefined : { requeueAfter: Math.min(...waits) };
  }

  /** The revision of each site, for an application with a rollout. */
  async function stageOf(application: EdgeApplication, signal: AbortSignal): Promise<Stage | undefined> {
    const { rollout } = application.spec;
    if (rollout === undefined) return undefined;
    const revision = await revisions.current(application, signal);
    const { targets } = targetsOf(application, kindOfPool, nodesWith);
    const sites = targets.map(({ edition, nodes: where }) => ({
      name: edition,
      labels: 'pool' in where ? labelsOfPool(where.pool, where.label) : {},
    }));
    const plan = planRollout(rollout, sites, revision, application.status?.rollout, clock.now());
    const contents = new Map<string, RevisionContent>();
    const { stableRevision } = plan.status;
    for (const name of new Set([...plan.revisions.values(), ...(stableRevision ? [stableRevision] : [])])) {
      const content = name === revision ? undefined : await revisions.of(application, name, signal);
      if (content !== undefined) contents.set(name, content);
    }
    return { plan, contents };
  }

  const labelsOfPool = (name: string, label: string): Record<string, string> =>
    (label === NODE_GROUP_LABEL ? groups : pools).cache.get(name)?.metadata.labels ?? {};

  /** A wave that has just started is applied at once. A wave that is not available is looked at when its time is over. */
  const msToNextStep = (
    { spec }: EdgeApplication,
    stage: Stage | undefined,
    status: RolloutStatus,
  ): number | undefined =>
    status.wave !== stage?.plan.status.wave ? 1 : msToDeadline(spec.rollout ?? {}, status, clock.now());

  async function remove(
    application: EdgeApplication,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const outcomes = await finalize(tools, application, orphaning.has(keyOf(application)), signal);
    if (outcomes.length === 0) return undefined;
    const paced = await statusWriter.report(application, { outcomes, errors: [], missing: [] }, signal);
    return paced ?? { requeueAfter: RETRY_MS };
  }

  const applicationsIn = (pool: NodeGroup | NodePool): string[] =>
    applications.cache.byIndex(TARGETS_INDEX, pool.metadata.name ?? '').map(keyOf);
  const applicationsOn = ({ metadata }: Node): string[] =>
    applications.cache
      .byIndex(LABELS_INDEX, 'any')
      .filter((application) => selectsLabels(application, metadata.labels ?? {}))
      .map(keyOf);

  const noticeOrphaning = (application: EdgeApplication): unknown =>
    isOrphaning(application) && orphaning.add(keyOf(application));
  applications.addHandler({
    onAdd: noticeOrphaning,
    onUpdate: (_, application) => noticeOrphaning(application),
  });

  const definitions = informers.for(DEFINITIONS);
  definitions.addHandler({
    onDelete: ({ spec }) => {
      client.discovery.invalidate();
      children.forget({ group: spec.group, resource: spec.names.plural });
    },
  });
  // Not the owners of the objects: the informer of a new kind may not have seen them yet.
  const applicationsWith = ({ spec: { group, names } }: Definition): string[] =>
    applications.cache.byIndex(KINDS_INDEX, `${names.kind}.${group}`).map(keyOf);

  const controller: Controller = new Controller({
    ...context,
    name: 'edgeapplication',
    reconcile,
    concurrency: 4,
  })
    .watch(applications, undefined, isOfInterest)
    // Only the existence of a pool matters, and its labels, which decide its wave.
    .watch(groups, applicationsIn, labelsChange)
    .watch(pools, applicationsIn, labelsChange)
    // Kubelets update their nodes often, but rarely a label.
    .watch(nodes, applicationsOn, labelsChange)
    .watch(definitions, applicationsWith);
  return controller;
}

const labelsChange = (old: KubeObject, object: KubeObject): boolean =>
  !isDeepStrictEqual(old.metadata.labels, object.metadata.labels);

const createdAt = (pool: KubeObject | undefined): string | undefined =>
  pool && (pool.metadata.creationTimestamp ?? '');

/** Ignores updates of the status, which this controller writes itself. */
const isOfInterest = (old: KubeObject, application: KubeObject): boolean =>
  old.metadata.generation !== application.metadata.generation ||
  old.metadata.uid !== application.metadata.uid ||
  isBeingDeleted(old) !== isBeingDeleted(application) ||
  (old.metadata.finalizers ?? []).join() !== (application.metadata.finalizers ?? []).join();
