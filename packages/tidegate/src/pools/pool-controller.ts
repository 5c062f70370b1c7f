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
import { recordedAttributes } from './attribute-record.ts';
import type { PoolsContext } from './context.ts';
import { POOL_LABELS } from './facts.ts';
import { nameList } from './name-list.ts';
import type { PoolKindTraits } from './pool-kinds.ts';
import { type PoolSummary, readyStatusOf } from './pool-status.ts';
import { validateDelete } from './validate-delete.ts';

/** Minimum time between two status writes of a pool, so that many changes need one write. */
const STATUS_INTERVAL_MS = 500;

/** Reasons for not being ready that require action by a user. They are also recorded as events. */
const WARNING_REASONS = new Set(['Deleting', 'InvalidSelector', 'NodesRefused', 'NodesMissing']);

const nodesByLabel = {
  NodePool: ({ metadata }: Node): readonly string[] => labelValue(metadata.labels?.[POOL_LABELS.NodePool]),
  NodeGroup: ({ metadata }: Node): readonly string[] => labelValue(metadata.labels?.[POOL_LABELS.NodeGroup]),
};
const labelValue = (value: string | undefined): string[] => (value === undefined ? [] : [value]);

/**
 * Maintains status, events and finalizer of the pools of one kind. The node controller changes the nodes; this controller
 * only reports, and removes the finalizer of a deleted pool when no node is left in it.
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
      if (isEmpty(name))
        return ignoreNotFound(removeFinalizer(client, resource, pool, finalizer, { signal }));
    } else if (!hasFinalizer(pool, finalizer)) {
      await addFinalizer(client, resource, pool, finalizer, { signal });
    }
    return writeStatus(pool, name, signal);
  }

  /** The labels that Tidegate wrote must be removed too, so that no client finds nodes of a deleted pool by label. */
  const isEmpty = (name: string): boolean =>
    membership.nodesOf(kind, name).size === 0 &&
    !nodes.cache
      .byIndex(labelIndex, name)
      .some((node) => recordedAttributes(node).labels[POOL_LABELS[kind]] === name);

  async function writeStatus(
    pool: P,
    name: string,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const status = traits.statusOf(pool, summaryOf(pool, name), clock.now());
    if (isCurrent(pool, status)) return;
    const wait = (writtenAt.get(name) ?? -STATUS_INTERVAL_MS) + STATUS_INTERVAL_MS - clock.monotonic();
    if (wait > 0) return { requeueAfter: wait };
    writtenAt.set(name, clock.monotonic());
    const { apiVersion, kind: objectKind } = pool;
    const object = { apiVersion, kind: objectKind, metadata: { name }, status };
    await ignoreNotFound(applier.applyStatus(object, { resource, signal }));
    recordEvents(pool, { ...pool, status });
  }

  /** Compares our own fields only, because other writers may have fields in the status too. */
  function isCurrent(pool: P, status: Record<string, unknown>): boolean {
    const { conditions, ...fields } = status;
    const [ready] = conditions as unknown[];
    const old = (pool.status ?? {}) as Record<string, unknown>;
    return (
      isDeepStrictEqual(getCondition(traits.conditionsOf(pool), 'Ready'), ready) &&
      Object.entries(fields).every(([field, value]) => isDeepStrictEqual(old[field], value))
    );
  }

  function summaryOf(pool: P, name: string): PoolSummary {
    const facts = traits.factsOf(pool);
    const ready = (node: string) => ({ name: node, ready: readyStatusOf(nodes.cache.get(node)) });
    const members = [...membership.nodesOf(kind, name)].toSorted();
    const blocker = validateDelete(kind, new Set(members)) ?? 'The nodes of the pool are being released';
    return {
      generation: pool.metadata.generation,
      members: members.map(ready),
      refused: [...membership.refusedTo(kind, name)]
        .toSorted()
        .map((node) => ({ ...ready(node), owner: membership.poolOf(kind, node) ?? '' })),
      missing: [...facts.nodes].filter((node) => !membership.hasNode(node)).toSorted(),
      ...(facts.problem !== undefined && { problem: facts.problem }),
      ...(facts.deleting && { deleting: blocker }),
    };
  }

  /** Records the differences to the previously written status as events. */
  function recordEvents(before: P, after: P): void {
    const [previous, current] = [new Set(traits.membersOf(before)), new Set(traits.membersOf(after))];
    const joined = [...current].filter((node) => !previous.has(node));
    const left = [...previous].filter((node) => !current.has(node));
    if (joined.length > 0)
      recorder.normal(after, 'NodesJoined', `Nodes joined the pool: ${nameList(joined)}`);
    if (left.length > 0) recorder.normal(after, 'NodesLeft', `Nodes left the pool: ${nameList(left)}`);
    const [oldReady, newReady] = [before, after].map((pool) =>
      getCondition(traits.conditionsOf(pool), 'Ready'),
    );
    if (
      newReady !== undefined &&
      WARNING_REASONS.has(newReady.reason) &&
      newReady.message !== oldReady?.message
    ) {
      recorder.warning(after, newReady.reason, newReady.message);
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
    const affected = change.type === 'moved' ? [change.from, change.to] : [change.pool];
    for (const name of affected) if (name !== undefined) controller.enqueue(name);
  });
  return controller;
}

async function ignoreNotFound(write: Promise<unknown>): Promise<undefined> {
  try {
    await write;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
