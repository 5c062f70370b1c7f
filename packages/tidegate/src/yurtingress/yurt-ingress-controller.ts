import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  addFinalizer,
  Controller,
  getCondition,
  hasFinalizer,
  INGRESS_CLASSES,
  isBeingDeleted,
  isNotFound,
  type KubeObject,
  type ReconcileResult,
  removeFinalizer,
} from '@tidegate/kube';
import {
  L7_ROUTERS,
  OPENYURT_YURT_INGRESS_FINALIZER,
  YURT_INGRESS_FIELD_MANAGER,
  YURT_INGRESS_FINALIZER,
  YURT_INGRESS_LABEL,
  YURT_INGRESSES,
  type YurtIngress,
  type YurtIngressStatus,
} from '../api/index.ts';
import type { YurtIngressContext } from './context.ts';
import { type DoorState, doorState } from './door-state.ts';
import { type FrontDoors, poolsOf } from './front-doors.ts';
import { holderOf } from './observed.ts';
import { statusOf } from './status.ts';

/** The minimum time between two writes of a status, unless the set of ready pools changes. */
const MIN_WRITE_INTERVAL_MS = 500;

/** That of OpenYurt first: without ours, nothing would continue after an error. After a migration, its controller is gone. */
const FINALIZERS = [OPENYURT_YURT_INGRESS_FINALIZER, YURT_INGRESS_FINALIZER];

/**
 * Creates the controller that writes the status, the events and the finalizer of each YurtIngress. The front door
 * controller creates and deletes the front doors.
 */
export function yurtIngressController(context: YurtIngressContext, doors: FrontDoors): Controller {
  const { client, recorder, clock, routerImage } = context;
  const applier = new Applier(client, YURT_INGRESS_FIELD_MANAGER);
  const writtenAt = new Map<string, number>();

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const object = doors.yurtIngresses.cache.get(name);
    if (object === undefined) {
      writtenAt.delete(name);
      return;
    }
    if (isBeingDeleted(object)) {
      if (!FINALIZERS.some((finalizer) => hasFinalizer(object, finalizer))) return;
      if (await isCleanedUp(name, signal)) return releaseFinalizers(object, signal);
    } else {
      await addFinalizer(client, YURT_INGRESSES, object, YURT_INGRESS_FINALIZER, { signal });
    }
    return writeStatus(object, name, signal);
  }

  /** Whether no objects of the YurtIngress are left. Lists them from the API server, because caches may be stale. */
  async function isCleanedUp(name: string, signal: AbortSignal): Promise<boolean> {
    if (doors.heldBy(name).length > 0) return false;
    const labelSelector = `${YURT_INGRESS_LABEL}=${name}`;
    for (const resource of [INGRESS_CLASSES, L7_ROUTERS]) {
      const { items } = await client.list<KubeObject>(resource, { labelSelector, limit: 1, signal });
      if (items.length > 0) return false;
    }
    return true;
  }

  async function releaseFinalizers(object: YurtIngress, signal: AbortSignal): Promise<undefined> {
    let newest = object;
    const release = async (): Promise<void> => {
      for (const finalizer of FINALIZERS)
        newest = await removeFinalizer(client, YURT_INGRESSES, newest, finalizer, { signal });
    };
    return ignoreNotFound(release());
  }

  async function writeStatus(
    object: YurtIngress,
    name: string,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const options = { defaultImage: routerImage, now: clock.now() };
    const status = statusOf(object, statesOf(object, name), options);
    if (isDeepStrictEqual(object.status, status)) return;
    // Users wait for pools to become ready, so such a change is written immediately.
    const readinessChanged = !isDeepStrictEqual(
      object.status?.conditions?.readypools ?? [],
      status.conditions?.readypools,
    );
    const wait = (writtenAt.get(name) ?? -MIN_WRITE_INTERVAL_MS) + MIN_WRITE_INTERVAL_MS - clock.monotonic();
    if (wait > 0 && !readinessChanged) return { requeueAfter: wait };
    writtenAt.set(name, clock.monotonic());
    const { apiVersion, kind } = object;
    await ignoreNotFound(
      applier.applyStatus(
        { apiVersion, kind, metadata: { name }, status },
        { resource: YURT_INGRESSES, signal },
      ),
    );
    recordEvents(object, status);
  }

  function statesOf(object: YurtIngress, name: string): Map<string, DoorState> {
    if (!isBeingDeleted(object)) {
      return new Map(poolsOf(object).map((pool) => [pool, doorState(doors.observe(pool), name)]));
    }
    const terminating = {
      type: 'Pending',
      reason: 'Terminating',
      message: 'the front door is being deleted',
    } as const;
    return new Map(doors.heldBy(name).map((pool) => [pool, terminating]));
  }

  /** Records an event for each new failure message, and when all front doors become ready. */
  function recordEvents(before: YurtIngress, after: YurtIngressStatus): void {
    const was = new Map(
      before.status?.conditions?.unreadypools?.map(({ pool, unreadyinfo }) => [
        pool.name,
        unreadyinfo.message,
      ]),
    );
    for (const { pool, unreadyinfo } of after.conditions?.unreadypools ?? []) {
      const { type, reason, message } = unreadyinfo;
      if (type === 'Failure' && was.get(pool.name) !== message)
        recorder.warning(before, reason, `${pool.name}: ${message}`);
    }
    const [old, ready] = [before.status?.readiness, after.readiness].map((all) => getCondition(all, 'Ready'));
    if (ready?.status === 'True' && old?.status !== 'True')
      recorder.normal(before, ready.reason, ready.message);
  }

  const controller = new Controller({ ...context, name: 'yurt-ingress', reconcile, concurrency: 4 })
    .watch(doors.yurtIngresses, (object) => [
      `${object.metadata.name}`,
      ...poolsOf(object).flatMap((pool) => doors.wantedBy(pool)),
    ])
    .watch(doors.routers, affectedNames)
    .watch(doors.classes, affectedNames)
    .watch(doors.namespaces, () => doors.yurtIngresses.cache.keys());
  doors.onPoolChange((pool) => {
    for (const name of doors.wantedBy(pool)) controller.enqueue(name);
  });

  function affectedNames(object: KubeObject): string[] {
    return [...doors.wantedBy(`${object.metadata.name}`), ...[holderOf(object) ?? []].flat()];
  }
  return controller;
}

async function ignoreNotFound(write: Promise<unknown>): Promise<undefined> {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
