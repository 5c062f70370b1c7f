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
import { bringAbout, type Tools } from './bring-about.ts';
import { Children } from './children.ts';
import { finalize, isOrphaning } from './finalize.ts';
import { Kinds } from './kinds.ts';
import { ownerOf } from './ownership.ts';
import { Remembered } from './remembered.ts';
import { StatusWriter } from './status-writer.ts';

/** What was refused may be accepted later: a namespace may appear, a quota may grow. */
const RETRY_MS = 15_000;
const WORTH_A_RETRY = new Set(['ApplyFailed', 'Refused']);

const DEFINITIONS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  namespaced: false,
};

const TARGETS_INDEX = 'apps/targets';
const targetNames = ({ spec }: EdgeApplication): string[] =>
  (spec.workloadScope?.targetNodeGroups ?? []).map(({ name }) => name);

/** Makes the objects of EdgeApplications, keeps them as they were made, and removes them again. */
export function applicationController(context: ControllerContext): Controller {
  const { client, informers, recorder, clock } = context;
  const applications = informers.for(EDGE_APPLICATIONS);
  applications.addIndex(TARGETS_INDEX, targetNames);
  const [groups, pools] = [informers.for(NODE_GROUPS), informers.for(NODE_POOLS)];
  const applier = new Applier(client, APPS_FIELD_MANAGER);
  const statusWriter = new StatusWriter(applier, recorder, clock);
  const remembered = new Remembered();
  const children = new Children(client, informers, (informer) => {
    controller.watch(informer, (child) => [ownerOf(child)].filter((owner) => owner !== undefined));
  });
  const tools: Tools = { client, applier, children, remembered, recorder, statusWriter };
  /** Applications that wait until the cluster has their kinds. */
  const waiting = new Set<string>();
  /** Applications whose objects shall outlive them: seen in passing, since nothing of it may be left when we look. */
  const orphaning = new Set<string>();

  const kindOfPool: KindOfPool = (name) => {
    if (groups.cache.get(name) !== undefined) return 'NodeGroup';
    return pools.cache.get(name) === undefined ? undefined : 'NodePool';
  };

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const cached = applications.cache.get(key);
    if (cached === undefined) {
      for (const memory of [statusWriter, remembered]) memory.forget(key);
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
    const findings = await bringAbout(tools, application, kinds, kindOfPool, signal);
    const again = kinds.hasUnknown || findings.outcomes.some(({ reason }) => WORTH_A_RETRY.has(reason));
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
    // Only whether a pool is there matters.
    .watch(groups, applicationsIn, never)
    .watch(pools, applicationsIn, never)
    .watch(informers.for(DEFINITIONS), () => waiting);
  return controller;
}

/** Our own writing of status concerns nobody. */
const isOfInterest = (old: KubeObject, application: KubeObject): boolean =>
  old.metadata.generation !== application.metadata.generation ||
  old.metadata.uid !== application.metadata.uid ||
  isBeingDeleted(old) !== isBeingDeleted(application) ||
  (old.metadata.finalizers ?? []).join() !== (application.metadata.finalizers ?? []).join();
