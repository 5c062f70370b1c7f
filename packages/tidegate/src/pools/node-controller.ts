import { isDeepStrictEqual } from 'node:util';
import {
  type Cache,
  Controller,
  isBeingDeleted,
  isConflict,
  isNotFound,
  type KubeObject,
  NODES,
  type Node,
  type ReconcileResult,
} from '@tidegate/kube';
import { NODE_GROUPS, NODE_POOLS, POOLS_FIELD_MANAGER, type PoolKind } from '../api/index.ts';
import type { PoolsContext } from './context.ts';
import { namesInText } from './names-in-text.ts';
import { planNode } from './node-plan.ts';
import { wantedFrom } from './wanted.ts';

/** Until the cache has what we collided with. */
const CONFLICT_RETRY_MS = 200;

/**
 * Makes each node as its pools want it: reads where membership puts it, then writes one patch with all labels,
 * annotations and taints. What the pods on it make of that is the eviction controller's.
 */
export function nodeController(context: PoolsContext): Controller {
  const { client, informers, membership, recorder } = context;
  const nodes = informers.for(NODES);
  const pools = informers.for(NODE_POOLS);
  const groups = informers.for(NODE_GROUPS);

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const node = nodes.cache.get(name);
    if (node === undefined || isBeingDeleted(node)) return;
    const pool = cached('NodePool', pools.cache, name);
    const group = cached('NodeGroup', groups.cache, name);
    const want = wantedFrom(pool, group);
    const { patch, kept } = planNode(node, want);
    if (patch !== undefined && !(await write(name, patch, signal)))
      return { requeueAfter: CONFLICT_RETRY_MS };
    if (pool !== undefined) report(pool, name, kept, want.problems);
  }

  /** Membership follows these very caches. Should one of them not have what it says, nothing may be taken back. */
  function cached<T extends KubeObject>(kind: PoolKind, cache: Cache<T>, node: string): T | undefined {
    const name = membership.poolOf(kind, node);
    const object = name === undefined ? undefined : cache.get(name);
    if (name !== undefined && object === undefined)
      throw new Error(`${kind} ${name} of node ${node} is not cached`);
    return object;
  }

  /** False when the node is not as we saw it. One that is gone has all it needs. */
  async function write(name: string, patch: object, signal: AbortSignal): Promise<boolean> {
    try {
      await client.patch(NODES, { name }, 'merge', patch, { fieldManager: POOLS_FIELD_MANAGER, signal });
    } catch (error) {
      if (isConflict(error)) return false;
      if (!isNotFound(error)) throw error;
    }
    return true;
  }

  function report(
    pool: KubeObject,
    node: string,
    kept: readonly string[],
    problems: readonly string[],
  ): void {
    if (kept.length > 0) {
      recorder.warning(
        pool,
        'AttributeKept',
        `node ${node} has its own value, which stays: ${namesInText(kept)}`,
      );
    }
    if (problems.length > 0) {
      recorder.warning(
        pool,
        'InvalidAttribute',
        `no node can have this, so it is left out: ${problems.join(', ')}`,
      );
    }
  }

  const controller = new Controller({ ...context, name: 'pool-nodes', reconcile, concurrency: 8 })
    .watch(nodes, undefined, (old, node) => !isDeepStrictEqual(attributesOf(old), attributesOf(node)))
    .watch(pools, ({ metadata }) => membership.nodesOf('NodePool', metadata.name ?? ''), hasNewSpec)
    .watch(groups, ({ metadata }) => membership.nodesOf('NodeGroup', metadata.name ?? ''), hasNewSpec);
  membership.subscribe((change) => {
    if (change.type === 'moved') controller.enqueue(change.node);
  });
  return controller;
}

/** All that a pool may change: a heartbeat is none of it. */
const attributesOf = ({ metadata, spec }: Node): unknown => [
  metadata.labels,
  metadata.annotations,
  spec?.taints,
];

const hasNewSpec = (old: KubeObject, object: KubeObject): boolean =>
  !isDeepStrictEqual(old.spec, object.spec);
