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

/** One write tells of all that happened in this time. */
const STATUS_PACE_MS = 500;

/** The status, the events and the finalizer of each YurtIngress. Its front doors are made by the other controller. */
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
      if (!hasFinalizer(object, YURT_INGRESS_FINALIZER)) return;
      if (await isClean(name, signal)) return letGo(object, signal);
    } else {
      await addFinalizer(client, YURT_INGRESSES, object, YURT_INGRESS_FINALIZER, { signal });
    }
    return writeStatus(object, name, signal);
  }

  /** Asked of the server: what was made a moment ago may not be in the caches. */
  async function isClean(name: string, signal: AbortSignal): Promise<boolean> {
    if (doors.heldBy(name).length > 0) return false;
    const labelSelector = `${YURT_INGRESS_LABEL}=${name}`;
    for (const resource of [INGRESS_CLASSES, L7_ROUTERS]) {
      const { items } = await client.list<KubeObject>(resource, { labelSelector, limit: 1, signal });
      if (items.length > 0) return false;
    }
    return true;
  }

  const letGo = (object: YurtIngress, signal: AbortSignal): Promise<undefined> =>
    ignoringGone(removeFinalizer(client, YURT_INGRESSES, object, YURT_INGRESS_FINALIZER, { signal }));

  async function writeStatus(
    object: YurtIngress,
    name: string,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const options = { defaultImage: routerImage, now: clock.now() };
    const status = statusOf(object, statesOf(object, name), options);
    if (isDeepStrictEqual(object.status, status)) return;
    // What people wait for is told at once.
    const isAwaited = !isDeepStrictEqual(
      object.status?.conditions?.readypools ?? [],
      status.conditions?.readypools,
    );
    const wait = (writtenAt.get(name) ?? -STATUS_PACE_MS) + STATUS_PACE_MS - clock.monotonic();
    if (wait > 0 && !isAwaited) return { requeueAfter: wait };
    writtenAt.set(name, clock.monotonic());
    const { apiVersion, kind } = object;
    await ignoringGone(
      applier.applyStatus(
        { apiVersion, kind, metadata: { name }, status },
        { resource: YURT_INGRESSES, signal },
      ),
    );
    tell(object, status);
  }

  function statesOf(object: YurtIngress, name: string): Map<string, DoorState> {
    if (!isBeingDeleted(object)) {
      return new Map(poolsOf(object).map((pool) => [pool, doorState(doors.observe(pool), name)]));
    }
    const leaving = {
      type: 'Pending',
      reason: 'Terminating',
      message: 'its front door is being taken away',
    } as const;
    return new Map(doors.heldBy(name).map((pool) => [pool, leaving]));
  }

  /** What is new since the status that people could read so far. */
  function tell(before: YurtIngress, after: YurtIngressStatus): void {
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
    .watch(doors.routers, namesConcerned)
    .watch(doors.classes, namesConcerned)
    .watch(doors.namespaces, () => doors.yurtIngresses.cache.keys());
  doors.onPoolChange((pool) => {
    for (const name of doors.wantedBy(pool)) controller.enqueue(name);
  });

  function namesConcerned(object: KubeObject): string[] {
    return [...doors.wantedBy(`${object.metadata.name}`), ...[holderOf(object) ?? []].flat()];
  }
  return controller;
}

async function ignoringGone(write: Promise<unknown>): Promise<undefined> {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
