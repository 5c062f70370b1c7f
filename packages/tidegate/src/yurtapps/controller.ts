import { isDeepStrictEqual } from 'node:util';
import {
  ApiStatusError,
  Applier,
  Controller,
  type ControllerContext,
  isBeingDeleted,
  isConflict,
  isForbidden,
  isNotFound,
  type KubeObject,
  keyOf,
  type ReconcileResult,
  splitKey,
} from '@tidegate/kube';
import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATIONS,
  type EdgeApplication,
  NODE_POOLS,
  type NodePool,
  YURT_APP_OVERRIDERS,
  YURT_APPS_FIELD_MANAGER,
  type YurtAppOverrider,
} from '../api/index.ts';
import { permissionHint, recordRevision } from '../apps/index.ts';
import { applicationNameOf, applicationOf, controllerUidOf } from './application.ts';
import { jsonDifference } from './json-difference.ts';
import { WORKLOAD_RESOURCES, YURT_APP_RESOURCES, type YurtAppKind } from './kinds.ts';
import { overriderFor, SUBJECT_INDEX, subjectKey, subjectKeys, subjectOf } from './overriders.ts';
import { revisionData, revisionOwner } from './revision.ts';
import { type Findings, statusOf, type Workload } from './status.ts';
import type { YurtApp } from './template.ts';
import { type Translation, translate } from './translate.ts';
import { liveNames, Workloads } from './workloads.ts';

/** A write that the API server rejected can succeed later, for example when a permission was granted. */
const RETRY_MS = 15_000;
/** The minimum time between two writes of one status. */
const MIN_WRITE_INTERVAL_MS = 500;

/** Creates the controller for one kind: it keeps an EdgeApplication, revisions and the status of each application current. */
export function yurtAppController(context: ControllerContext, kind: YurtAppKind): Controller {
  const { client, informers, recorder, clock } = context;
  const resource = YURT_APP_RESOURCES[kind];
  const apps = informers.for(resource);
  const applications = informers.for(EDGE_APPLICATIONS);
  const overriders = informers.for(YURT_APP_OVERRIDERS);
  overriders.addIndex(SUBJECT_INDEX, subjectKeys);
  const pools = informers.for(NODE_POOLS);
  const applier = new Applier(client, YURT_APPS_FIELD_MANAGER);
  const workloads = new Workloads(informers, (informer) => {
    controller.watch(informer, ownersOf);
  });
  const writtenAt = new Map<string, number>();
  /** The application name in the label of a workload, to the key of its owner. */
  const keys = new Map<string, string>();

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const app = apps.cache.get(key);
    const { namespace, name: own } = splitKey(key);
    const name = `${namespace}/${applicationNameOf({ kind, metadata: { name: own } })}`;
    if (app === undefined || isBeingDeleted(app)) {
      writtenAt.delete(key);
      if (app === undefined) keys.delete(name);
      return undefined;
    }
    keys.set(name, key);
    const overrider = overriderFor(overriders.cache.byIndex(SUBJECT_INDEX, subjectKey(kind, key)));
    const found = await deploy(app, overrider, applications.cache.get(name), signal);
    const paced = await report(app, key, { ...found, overrider: overrider?.metadata.name }, signal);
    return paced ?? (found.failure === undefined ? undefined : { requeueAfter: RETRY_MS });
  }

  /** Writes the EdgeApplication and the revision. An error of the API server becomes part of the status. */
  async function deploy(
    app: YurtApp,
    overrider: YurtAppOverrider | undefined,
    existing: EdgeApplication | undefined,
    signal: AbortSignal,
  ): Promise<Omit<Findings, 'overrider'>> {
    const all = pools.cache.list();
    let translation = translate(app, overrider, all);
    const none = { application: existing, workloads: workloads.of(existing), revision: undefined };
    if (existing !== undefined && controllerUidOf(existing) !== app.metadata.uid)
      return { ...none, application: undefined, workloads: [], translation, failure: taken(existing) };
    if (translation.type === undefined || translation.errors.length > 0)
      return { ...none, translation, failure: undefined };
    try {
      const live = await liveNames(client, app, translation.type, existing, signal);
      if (live.size > 0) translation = translate(app, overrider, all, live);
      const application = await write(app, translation, existing, signal);
      const revision = await revisionFor(app, signal);
      return {
        ...none,
        application,
        workloads: workloads.of(application),
        translation,
        revision,
        failure: undefined,
      };
    } catch (error) {
      if (!(error instanceof ApiStatusError) || isConflict(error)) throw error;
      return { ...none, translation, failure: failureOf(error, app, translation) };
    }
  }

  /** Sends only what differs: a change for one pool does not depend on the number of pools. */
  async function write(
    app: YurtApp,
    { spec = { workloadScope: {} } }: Translation,
    existing: EdgeApplication | undefined,
    signal: AbortSignal,
  ): Promise<EdgeApplication> {
    if (existing === undefined)
      return client.create(EDGE_APPLICATIONS, applicationOf(app, spec) as KubeObject, {
        fieldManager: YURT_APPS_FIELD_MANAGER,
        signal,
      }) as unknown as Promise<EdgeApplication>;
    // Users set the rollout in the EdgeApplication: the kinds of OpenYurt have none.
    const { rollout } = existing.spec;
    const wanted = { ...spec, ...(rollout && { rollout }) };
    const changes = jsonDifference({ spec: existing.spec }, { spec: wanted });
    if (changes.length === 0) return existing;
    const { name = '', namespace = '', resourceVersion } = existing.metadata;
    // The API server answers with a conflict if the object has changed since.
    const isCurrent = { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion };
    return client.patch(EDGE_APPLICATIONS, { name, namespace }, 'json', [isCurrent, ...changes], {
      fieldManager: YURT_APPS_FIELD_MANAGER,
      signal,
    });
  }

  /** The list of revisions is read only after a change of the spec. */
  async function revisionFor(app: YurtApp, signal: AbortSignal): Promise<Findings['revision']> {
    const { observedGeneration, currentRevision } = app.status ?? {};
    if (currentRevision !== undefined && observedGeneration === app.metadata.generation) return undefined;
    return recordRevision(client, revisionOwner(app), revisionData(app), signal);
  }

  async function report(
    app: YurtApp,
    key: string,
    findings: Findings,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const status = statusOf(app, findings, clock.now());
    if (isDeepStrictEqual(app.status, status)) return undefined;
    const wait = (writtenAt.get(key) ?? -MIN_WRITE_INTERVAL_MS) + MIN_WRITE_INTERVAL_MS - clock.monotonic();
    if (wait > 0) return { requeueAfter: wait };
    writtenAt.set(key, clock.monotonic());
    const { apiVersion, metadata } = app;
    const { name, namespace } = metadata;
    try {
      await applier.applyStatus({ apiVersion, kind, metadata: { name, namespace }, status } as KubeObject, {
        resource,
        signal,
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    const { translation, failure } = findings;
    const [error] = translation.errors;
    const problem =
      failure ?? (error && { reason: 'InvalidSpec', message: `${error.path}: ${error.message}` });
    const isNew = !app.status?.conditions?.some(
      ({ message }) => problem && message.includes(problem.message),
    );
    if (problem !== undefined && isNew) recorder.warning(app as KubeObject, problem.reason, problem.message);
    return undefined;
  }

  const ownersOf = ({ metadata }: Workload): string[] => {
    const key = keys.get(`${metadata.namespace}/${metadata.labels?.[EDGE_APPLICATION_LABEL]}`);
    return key === undefined ? [] : [key];
  };
  const ownerOf = ({ metadata }: EdgeApplication): string[] => {
    const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
    return owner?.kind === kind ? [`${metadata.namespace}/${owner.name}`] : [];
  };

  const controller: Controller = new Controller({
    ...context,
    name: kind.toLowerCase(),
    reconcile,
    concurrency: 2,
  })
    .watch(apps, undefined, isOfInterest)
    .watch(applications, ownerOf)
    .watch(overriders, (overrider) => (overrider.subject?.kind === kind ? [subjectOf(overrider).key] : []))
    .watch(pools, () => apps.cache.keys(), changesSelection);
  return controller;
}

/** Applications select pools by labels, and tolerate their taints. */
const changesSelection = (old: NodePool, pool: NodePool): boolean =>
  !isDeepStrictEqual(old.metadata.labels, pool.metadata.labels) ||
  !isDeepStrictEqual(old.spec?.taints, pool.spec?.taints);

/** Ignores updates of the status, which this controller writes itself. */
const isOfInterest = (old: YurtApp, app: YurtApp): boolean =>
  old.metadata.generation !== app.metadata.generation || old.metadata.uid !== app.metadata.uid;

const taken = (existing: EdgeApplication): NonNullable<Findings['failure']> => ({
  reason: 'NameTaken',
  message: `EdgeApplication ${keyOf(existing as KubeObject)} exists and belongs to another owner: delete or rename it`,
});

/** Says how to grant the permission, if that is what is missing. */
function failureOf(
  error: ApiStatusError,
  { metadata }: YurtApp,
  { type = 'Deployment' }: Translation,
): NonNullable<Findings['failure']> {
  const { group, resource } = WORKLOAD_RESOURCES[type];
  const identifier = { ordinal: 0, group, resource, namespace: `${metadata.namespace}` };
  return {
    reason: isForbidden(error) ? 'Forbidden' : 'ApplyFailed',
    message: error.message + permissionHint(error, identifier),
  };
}
