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
import { NODE_GROUPS, NODE_POOLS, POOLS_FIELD_MANAGER, type PoolKind, wholeNodePool } from '../api/index.ts';
import type { PoolsContext } from './context.ts';
import { desiredAttributes } from './desired-attributes.ts';
import { nameList } from './name-list.ts';
import { planNode } from './node-plan.ts';

/** By then the cache should have the change that caused the conflict. */
const CONFLICT_RETRY_MS = 200;

/**
 * Applies the labels, annotations and taints of its pools to each node, with one patch. The eviction controller takes
 * care of the pods that no longer fit.
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
    const desired = desiredAttributes(pool && wholeNodePool(pool), group);
    const { patch, kept } = planNode(node, desired);
    if (patch !== undefined && !(await write(name, patch, signal)))
      return { requeueAfter: CONFLICT_RETRY_MS };
    if (pool !== undefined) report(pool, name, kept, desired.problems);
  }

  /**
   * Membership is fed by these caches, so the pool must be there. If it is not, fail and retry: treating the pool as
   * missing would remove its labels and taints from the node.
   */
  function cached<T extends KubeObject>(kind: PoolKind, cache: Cache<T>, node: string): T | undefined {
    const name = membership.poolOf(kind, node);
    const object = name === undefined ? undefined : cache.get(name);
    if (name !== undefined && object === undefined)
      throw new Error(`${kind} ${name} of node ${node} is not in the cache yet`);
    return object;
  }

  /** Resolves to false on a conflict. A deleted node needs no patch. */
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
        `Node ${node} has different values that Tidegate did not set, so they are kept: ${nameList(kept)}`,
      );
    }
    if (problems.length > 0) {
      recorder.warning(
        pool,
        'InvalidAttribute',
        `Invalid entries in the spec are not applied to nodes: ${problems.join(', ')}`,
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

/** Everything that a pool can change. Heartbeats change none of it. */
const attributesOf = ({ metadata, spec }: Node): unknown => [
  metadata.labels,
  metadata.annotations,
  spec?.taints,
];

const hasNewSpec = (old: KubeObject, object: KubeObject): boolean =>
  !isDeepStrictEqual(old.spec, object.spec);
