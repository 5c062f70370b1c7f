import {
  Applier,
  addFinalizer,
  Controller,
  type ControllerContext,
  hasFinalizer,
  isBeingDeleted,
  type KubeObject,
  keyOf,
  type ReconcileResult,
  type Resource,
} from '@tidegate/kube';
import {
  APPS_FIELD_MANAGER,
  EDGE_APPLICATION_FINALIZER,
  EDGE_APPLICATIONS,
  type EdgeApplication,
  NODE_GROUPS,
  NODE_POOLS,
  type NodeGroup,
  type NodePool,
} from '../../api/index.ts';
import type { KindOfPool } from '../render/targets.ts';
import { AppliedCache } from './applied-cache.ts';
import { Children } from './children.ts';
import { finalize, isOrphaning } from './finalize.ts';
import { Kinds } from './kinds.ts';
import { ownerOf } from './ownership.ts';
import { reconcileObjects, type Tools } from './reconcile-objects.ts';
import { StatusWriter } from './status-writer.ts';

/** An apply that the API server rejected can succeed later, for example when a namespace or a quota was created. */
const RETRY_MS = 15_000;
const RETRIED_REASONS = new Set(['ApplyFailed', 'Refused']);

const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};

const TARGETS_INDEX = 'apps/targets';
const targetNames = ({ spec }: EdgeApplication): string[] =>
  (spec.workloadScope?.targetNodeGroups ?? []).map(({ name }) => name);

/** Creates the controller for EdgeApplications: it applies their objects, corrects drift, and deletes the objects. */
export function applicationController(context: ControllerContext): Controller {
  const { client, informers, recorder, clock } = context;
  const applications = informers.for(EDGE_APPLICATIONS);
  applications.addIndex(TARGETS_INDEX, targetNames);
  const [groups, pools] = [informers.for(NODE_GROUPS), informers.for(NODE_POOLS)];
  const applier = new Applier(client, APPS_FIELD_MANAGER);
  const statusWriter = new StatusWriter(applier, recorder, clock);
  const appliedCache = new AppliedCache();
  const children = new Children(client, informers, (informer) => {
    controller.watch(informer, (child) => [ownerOf(child)].filter((owner) => owner !== undefined));
  });
  const tools: Tools = { client, applier, children, appliedCache, recorder, statusWriter };
  /** Keys of applications with kinds that the cluster does not have yet. A new CRD adds them to the queue. */
  const waiting = new Set<string>();
  /**
   * Keys of applications that are deleted with `--cascade=orphan`. The garbage collector removes the finalizer `orphan`
   * soon, possibly before the next reconcile. So an event handler records it when the informer sees it.
   */
  const orphaning = new Set<string>();

  const kindOfPool: KindOfPool = (name) => {
    if (groups.cache.get(name) !== undefined) return 'NodeGroup';
    return pools.cache.get(name) === undefined ? undefined : 'NodePool';
  };

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const cached = applications.cache.get(key);
    if (cached === undefined) {
      for (const memory of [statusWriter, appliedCache]) memory.forget(key);
      waiting.delete(key);
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
    const kinds = await Kinds.of(application, client.discovery);
    if (kinds.hasUnknown) waiting.add(keyOf(application));
    else waiting.delete(keyOf(application));
    const findings = await reconcileObjects(tools, application, kinds, kindOfPool, signal);
    const again = kinds.hasUnknown || findings.outcomes.some(({ reason }) => RETRIED_REASONS.has(reason));
    const paced = await statusWriter.report(application, findings, signal);
    return paced ?? (again ? { requeueAfter: RETRY_MS } : undefined);
  }

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
  const never = (): boolean => false;

  const noticeOrphaning = (application: EdgeApplication): unknown =>
    isOrphaning(application) && orphaning.add(keyOf(application));
  applications.addHandler({
    onAdd: noticeOrphaning,
    onUpdate: (_, application) => noticeOrphaning(application),
  });

  const controller: Controller = new Controller({
    ...context,
    name: 'edgeapplication',
    reconcile,
    concurrency: 4,
  })
    .watch(applications, undefined, isOfInterest)
    // Only the existence of a pool matters, so updates are ignored.
    .watch(groups, applicationsIn, never)
    .watch(pools, applicationsIn, never)
    .watch(informers.for(DEFINITIONS), () => waiting);
  return controller;
}

/** Ignores updates of the status, which this controller writes itself. */
const isOfInterest = (old: KubeObject, application: KubeObject): boolean =>
  old.metadata.generation !== application.metadata.generation ||
  old.metadata.uid !== application.metadata.uid ||
  isBeingDeleted(old) !== isBeingDeleted(application) ||
  (old.metadata.finalizers ?? []).join() !== (application.metadata.finalizers ?? []).join();
