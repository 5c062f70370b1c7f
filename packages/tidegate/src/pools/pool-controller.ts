import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  addFinalizer,
  Controller,
  getCondition,
  hasFinalizer,
  isBeingDeleted,
  isNotFound,
  type KubeObject,
  NODES,
  type Node,
  type ReconcileResult,
  removeFinalizer,
} from '@tidegate/kube';
import { POOLS_FIELD_MANAGER } from '../api/index.ts';
import type { PoolsContext } from './context.ts';
import { POOL_LABELS } from './facts.ts';
import { namesInText } from './names-in-text.ts';
import type { PoolKindTraits } from './pool-kinds.ts';
import { type PoolView, readyStatusOf } from './pool-status.ts';
import { validateDelete } from './validate-delete.ts';
import { writtenOn } from './written.ts';

/** One write tells of all that happened to a pool in this time. */
const STATUS_PACE_MS = 500;

/** Reasons not to be ready that somebody must do something about. */
const TO_BE_MENDED = new Set(['Deleting', 'InvalidSelector', 'NodesRefused', 'NodesMissing']);

const nodesByLabel = {
  NodePool: ({ metadata }: Node): readonly string[] => labelValue(metadata.labels?.[POOL_LABELS.NodePool]),
  NodeGroup: ({ metadata }: Node): readonly string[] => labelValue(metadata.labels?.[POOL_LABELS.NodeGroup]),
};
const labelValue = (value: string | undefined): string[] => (value === undefined ? [] : [value]);

/**
 * The status, the events and the finalizer of the pools of one kind. What happens to nodes is the node controller's:
 * this one only tells of it, and lets a pool go when no node is left in it.
 */
export function poolController<P extends KubeObject>(
  traits: PoolKindTraits<P>,
  context: PoolsContext,
): Controller {
  const { client, informers, membership, recorder, clock } = context;
  const { kind, resource, finalizer } = traits;
  const pools = informers.for(resource);
  const nodes = informers.for(NODES);
  const labelIndex = `pools/${kind}`;
  nodes.addIndex(labelIndex, nodesByLabel[kind]);
  const applier = new Applier(client, POOLS_FIELD_MANAGER);
  const writtenAt = new Map<string, number>();

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const pool = pools.cache.get(name);
    if (pool === undefined) {
      writtenAt.delete(name);
      return;
    }
    if (isBeingDeleted(pool)) {
      if (!hasFinalizer(pool, finalizer)) return;
      if (isEmpty(name)) return ignoringGone(removeFinalizer(client, resource, pool, finalizer, { signal }));
    } else if (!hasFinalizer(pool, finalizer)) {
      await addFinalizer(client, resource, pool, finalizer, { signal });
    }
    return writeStatus(pool, name, signal);
  }

  /** Also the labels that we wrote must be off: what goes by them must not find a pool that is gone. */
  const isEmpty = (name: string): boolean =>
    membership.nodesOf(kind, name).size === 0 &&
    !nodes.cache.byIndex(labelIndex, name).some((node) => writtenOn(node).labels[POOL_LABELS[kind]] === name);

  async function writeStatus(
    pool: P,
    name: string,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const status = traits.statusOf(pool, viewOf(pool, name), clock.now());
    if (isWritten(pool, status)) return;
    const wait = (writtenAt.get(name) ?? -STATUS_PACE_MS) + STATUS_PACE_MS - clock.monotonic();
    if (wait > 0) return { requeueAfter: wait };
    writtenAt.set(name, clock.monotonic());
    const { apiVersion, kind: objectKind } = pool;
    const object = { apiVersion, kind: objectKind, metadata: { name }, status };
    await ignoringGone(applier.applyStatus(object, { resource, signal }));
    tell(pool, { ...pool, status });
  }

  /** Others may have fields of their own in it. */
  function isWritten(pool: P, status: Record<string, unknown>): boolean {
    const { conditions, ...fields } = status;
    const [ready] = conditions as unknown[];
    const old = (pool.status ?? {}) as Record<string, unknown>;
    return (
      isDeepStrictEqual(getCondition(traits.conditionsOf(pool), 'Ready'), ready) &&
      Object.entries(fields).every(([field, value]) => isDeepStrictEqual(old[field], value))
    );
  }

  function viewOf(pool: P, name: string): PoolView {
    const facts = traits.factsOf(pool);
    const ready = (node: string) => ({ name: node, ready: readyStatusOf(nodes.cache.get(node)) });
    const members = [...membership.nodesOf(kind, name)].toSorted();
    const held = validateDelete(kind, new Set(members)) ?? 'its nodes are being let go';
    return {
      generation: pool.metadata.generation,
      members: members.map(ready),
      refused: [...membership.refusedTo(kind, name)]
        .toSorted()
        .map((node) => ({ ...ready(node), owner: membership.poolOf(kind, node) ?? '' })),
      missing: [...facts.nodes].filter((node) => !membership.hasNode(node)).toSorted(),
      ...(facts.problem !== undefined && { problem: facts.problem }),
      ...(facts.deleting && { deleting: held }),
    };
  }

  /** What is new since the status that people could read so far. */
  function tell(before: P, after: P): void {
    const [were, are] = [new Set(traits.membersOf(before)), new Set(traits.membersOf(after))];
    const joined = [...are].filter((node) => !were.has(node));
    const left = [...were].filter((node) => !are.has(node));
    if (joined.length > 0) recorder.normal(after, 'NodesJoined', namesInText(joined));
    if (left.length > 0) recorder.normal(after, 'NodesLeft', namesInText(left));
    const [was, is] = [before, after].map((pool) => getCondition(traits.conditionsOf(pool), 'Ready'));
    if (is !== undefined && TO_BE_MENDED.has(is.reason) && is.message !== was?.message) {
      recorder.warning(after, is.reason, is.message);
    }
  }

  const controller = new Controller({
    ...context,
    name: `pool-${resource.resource}`,
    reconcile,
    concurrency: 4,
  })
    .watch(pools)
    .watch(
      nodes,
      (node) => [...membership.claimantsOf(kind, node.metadata.name ?? ''), ...nodesByLabel[kind](node)],
      (old, node) =>
        readyStatusOf(old) !== readyStatusOf(node) ||
        !isDeepStrictEqual(nodesByLabel[kind](old), nodesByLabel[kind](node)),
    );
  membership.subscribe((change) => {
    if (change.kind !== kind) return;
    const concerned = change.type === 'moved' ? [change.from, change.to] : [change.pool];
    for (const name of concerned) if (name !== undefined) controller.enqueue(name);
  });
  return controller;
}

async function ignoringGone(write: Promise<unknown>): Promise<undefined> {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
