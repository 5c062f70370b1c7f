import { isDeepStrictEqual } from 'node:util';
import {
  Controller,
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  type ReconcileResult,
} from '@tidegate/kube';
import { YURT_INGRESS_FIELD_MANAGER, type YurtIngress } from '../api/index.ts';
import type { YurtIngressContext } from './context.ts';
import { type FrontDoors, poolsOf } from './front-doors.ts';
import { nextStep, type Step } from './next-step.ts';

/**
 * A pool that moves from one YurtIngress to another is nobody's for a moment, since admission lets nobody take what
 * another has. Whoever writes both has this long, and its router runs on.
 */
const RELEASE_MS = 2_000;

/** Makes the objects of front doors and takes them away. By pool: what happens to one can not touch another. */
export function frontDoorController(context: YurtIngressContext, doors: FrontDoors): Controller {
  const { client, clock } = context;
  const releasedAt = new Map<string, number>();

  async function reconcile(pool: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const step = nextStep(doors.observe(pool));
    const wait = waitBefore(step, pool);
    if (wait > 0) return { requeueAfter: wait };
    await take(step, signal);
  }

  function waitBefore(step: Step, pool: string): number {
    if (step.do !== 'delete' || !step.released) {
      releasedAt.delete(pool);
      return 0;
    }
    const now = clock.monotonic();
    const since = releasedAt.get(pool) ?? now;
    releasedAt.set(pool, since);
    return since + RELEASE_MS - now;
  }

  /** What was done already, though the cache does not show it yet, is done. */
  async function take(step: Step, signal: AbortSignal): Promise<void> {
    if (step.do === 'nothing') return;
    const { resource, object } = step;
    const { name = '', uid } = object.metadata;
    const options = { fieldManager: YURT_INGRESS_FIELD_MANAGER, signal };
    try {
      if (step.do === 'create') await client.create(resource, object, options);
      else if (step.do === 'update') await client.update(resource, object, options);
      else await client.delete(resource, { name }, { preconditions: { uid }, signal });
    } catch (error) {
      const isDone = step.do === 'create' ? isAlreadyExists : isNotFound;
      if (!isDone(error)) throw error;
    }
  }

  const controller = new Controller({ ...context, name: 'front-door', reconcile, concurrency: 4 })
    .watch(doors.yurtIngresses, poolsConcerned, claimsDiffer)
    .watch(doors.routers, byName, isOtherwise)
    .watch(doors.classes, byName, isOtherwise)
    .watch(doors.namespaces, () => doors.pools());
  doors.onPoolChange((pool) => controller.enqueue(pool));

  /** Those that it wants, and those that it has. */
  function poolsConcerned(object: YurtIngress): string[] {
    return [...poolsOf(object), ...doors.heldBy(`${object.metadata.name}`)];
  }
  return controller;
}

const byName = ({ metadata }: KubeObject): string[] => [`${metadata.name}`];

/** The status of a router changes often, and is nothing to correct. */
const isOtherwise = (old: KubeObject, { metadata, spec }: KubeObject): boolean =>
  !isDeepStrictEqual(old.spec, spec) ||
  !isDeepStrictEqual(old.metadata.labels, metadata.labels) ||
  !isDeepStrictEqual(old.metadata.ownerReferences, metadata.ownerReferences) ||
  old.metadata.deletionTimestamp !== metadata.deletionTimestamp;

const claimsDiffer = (old: YurtIngress, object: YurtIngress): boolean =>
  isOtherwise(old, object) || !isDeepStrictEqual(old.metadata.finalizers, object.metadata.finalizers);
