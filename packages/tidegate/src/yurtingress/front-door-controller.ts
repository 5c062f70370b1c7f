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
 * How long an unclaimed front door is kept. Admission rejects a YurtIngress with a pool of another one, so a user must
 * remove a pool from one YurtIngress before adding it to another. If both writes happen within this time, the router
 * keeps running.
 */
const RELEASE_MS = 2_000;

/**
 * Creates the controller that creates, corrects and deletes the L7Router and the IngressClass of front doors. Its keys are
 * pools, so a failure at one front door does not delay another.
 */
export function frontDoorController(context: YurtIngressContext, doors: FrontDoors): Controller {
  const { client, clock } = context;
  const releasedAt = new Map<string, number>();

  async function reconcile(pool: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const step = nextStep(doors.observe(pool));
    const wait = waitBefore(step, pool);
    if (wait > 0) return { requeueAfter: wait };
    await perform(step, signal);
  }

  /** The time in milliseconds until a released front door may be deleted. */
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

  /** Does one step. The cache may be stale, so "already exists" and "not found" mean that the step was done before. */
  async function perform(step: Step, signal: AbortSignal): Promise<void> {
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
    .watch(doors.yurtIngresses, affectedPools, claimsDiffer)
    .watch(doors.routers, byName, hasRelevantChange)
    .watch(doors.classes, byName, hasRelevantChange)
    .watch(doors.namespaces, () => doors.pools());
  doors.onPoolChange((pool) => controller.enqueue(pool));

  /** The pools in the spec, and pools whose front doors still belong to the YurtIngress. */
  function affectedPools(object: YurtIngress): string[] {
    return [...poolsOf(object), ...doors.heldBy(`${object.metadata.name}`)];
  }
  return controller;
}

const byName = ({ metadata }: KubeObject): string[] => [`${metadata.name}`];

/** Ignores updates of the status, which changes often and never needs a correction. */
const hasRelevantChange = (old: KubeObject, { metadata, spec }: KubeObject): boolean =>
  !isDeepStrictEqual(old.spec, spec) ||
  !isDeepStrictEqual(old.metadata.labels, metadata.labels) ||
  !isDeepStrictEqual(old.metadata.ownerReferences, metadata.ownerReferences) ||
  old.metadata.deletionTimestamp !== metadata.deletionTimestamp;

const claimsDiffer = (old: YurtIngress, object: YurtIngress): boolean =>
  hasRelevantChange(old, object) || !isDeepStrictEqual(old.metadata.finalizers, object.metadata.finalizers);
