import { isDeepStrictEqual } from 'node:util';
import { NODE_GROUPS, NODE_POOLS, POOLS_FIELD_MANAGER, type PoolKind } from '../api/index.ts';
import {
  type Cache,
  Controller,
  isBeingDeleted,
  isConflict,
  isNotFound,
  type KubeObject,
  NODES,
  type Node,
  PODS,
  type Pod,
  type ReconcileResult,
} from '../kube/index.ts';
import type { PoolsContext } from './context.ts';
import { evict } from './evict.ts';
import { isMisplaced } from './misplaced.ts';
import { namesInText } from './names-in-text.ts';
import { planNode } from './node-plan.ts';
import { wantedFrom } from './wanted.ts';

const PODS_BY_NODE = 'pools/nodeName';
const podNode = ({ spec }: Pod): readonly string[] => (spec?.nodeName === undefined ? [] : [spec.nodeName]);

/** A disruption budget does not say when it will allow more. */
const BLOCKED_RETRY_MS = 10_000;
/** Until the cache has what we collided with. */
const CONFLICT_RETRY_MS = 200;

/**
 * Makes each node as its pools want it, and removes the pods that do not belong there any more. One reconcile of one
 * node: read where membership puts it -> one patch with all labels, annotations and taints -> evict by the labels
 * that the server confirms.
 */
export function nodeController(context: PoolsContext): Controller {
  const { client, informers, membership, recorder } = context;
  const nodes = informers.for(NODES);
  const pools = informers.for(NODE_POOLS);
  const groups = informers.for(NODE_GROUPS);
  const pods = informers.for(PODS);
  pods.addIndex(PODS_BY_NODE, podNode);

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const node = nodes.cache.get(name);
    if (node === undefined || isBeingDeleted(node)) return;
    const pool = cached('NodePool', pools.cache, name);
    const group = cached('NodeGroup', groups.cache, name);
    const want = wantedFrom(pool, group);
    const { patch, kept } = planNode(node, want);
    const current = patch === undefined ? node : await write(name, patch, signal);
    if (current === 'gone') return;
    if (current === 'changed') return { requeueAfter: CONFLICT_RETRY_MS };
    if (pool !== undefined) report(pool, name, kept, want.problems);
    const blocked = await evictMisplaced(current, signal);
    return blocked ? { requeueAfter: BLOCKED_RETRY_MS } : undefined;
  }

  /** Membership follows these very caches. Should one of them not have what it says, nothing may be taken back. */
  function cached<T extends KubeObject>(kind: PoolKind, cache: Cache<T>, node: string): T | undefined {
    const name = membership.poolOf(kind, node);
    const object = name === undefined ? undefined : cache.get(name);
    if (name !== undefined && object === undefined)
      throw new Error(`${kind} ${name} of node ${node} is not cached`);
    return object;
  }

  async function write(name: string, patch: object, signal: AbortSignal): Promise<Node | 'gone' | 'changed'> {
    try {
      return await client.patch(NODES, { name }, 'merge', patch, {
        fieldManager: POOLS_FIELD_MANAGER,
        signal,
      });
    } catch (error) {
      if (isNotFound(error)) return 'gone';
      if (isConflict(error)) return 'changed';
      throw error;
    }
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

  /** Says whether some could not go yet. */
  async function evictMisplaced(node: Node, signal: AbortSignal): Promise<boolean> {
    const { name = '' } = node.metadata;
    const suspects = misplacedOn(node);
    if (suspects.length === 0) return false;
    // The caches of pods and of nodes do not advance together: a pod may have come for a label we have not seen yet.
    const { labels = {} } = (await client.get(NODES, { name }, { signal })).metadata;
    let blocked = false;
    for (const pod of suspects.filter((suspect) => isMisplaced(suspect, labels))) {
      const result = await evict(client, pod, signal);
      if (result === 'blocked') blocked = true;
      if (result === 'evicted') {
        recorder.normal(
          pod,
          'LeftPool',
          `evicted: node ${name} is no longer in the pool that this pod is for`,
        );
      }
    }
    return blocked;
  }

  const misplacedOn = ({ metadata }: Node): Pod[] =>
    pods.cache
      .byIndex(PODS_BY_NODE, metadata.name ?? '')
      .filter((pod) => isMisplaced(pod, metadata.labels ?? {}));

  const controller = new Controller({ ...context, name: 'pool-nodes', reconcile, concurrency: 8 })
    .watch(nodes, undefined, (old, node) => !isDeepStrictEqual(attributesOf(old), attributesOf(node)))
    .watch(pools, ({ metadata }) => membership.nodesOf('NodePool', metadata.name ?? ''), hasNewSpec)
    .watch(groups, ({ metadata }) => membership.nodesOf('NodeGroup', metadata.name ?? ''), hasNewSpec)
    .watch(pods, (pod) =>
      podNode(pod).filter((name) => {
        const node = nodes.cache.get(name);
        return node !== undefined && isMisplaced(pod, node.metadata.labels ?? {});
      }),
    );
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
