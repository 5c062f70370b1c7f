import { type Condition, type ConditionUpdate, getCondition, type Node, setCondition } from '@tidegate/kube';
import type { NodeGroupNodeStatus, NodeGroupStatus, NodePoolStatus, ReadyStatus } from '../api/index.ts';
import { nameList } from './name-list.ts';

/** The input for the status of a pool of either kind. */
export interface PoolSummary {
  generation: number | undefined;
  /** The nodes of the pool, by name. */
  members: readonly { name: string; ready: ReadyStatus }[];
  /** Nodes that the pool selects, but another pool owns. */
  refused: readonly { name: string; ready: ReadyStatus; owner: string }[];
  /** Nodes that the pool lists by name, but that do not exist. */
  missing: readonly string[];
  /** Why the selector is invalid. */
  problem?: string;
  /** Set if the pool is being deleted: what prevents its removal. */
  deleting?: string;
}

export function readyStatusOf(node: Node | undefined): ReadyStatus {
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  if (ready === 'True') return 'Ready';
  return ready === 'False' ? 'NotReady' : 'Unknown';
}

export const nodePoolStatus = (
  old: NodePoolStatus | undefined,
  summary: PoolSummary,
  now: number,
): NodePoolStatus => ({
  ...counts(summary),
  nodes: summary.members.map(({ name }) => name),
  conditions: [withReady(old?.conditions, summary, now)],
});

export const nodeGroupStatus = (
  old: NodeGroupStatus | undefined,
  summary: PoolSummary,
  now: number,
): NodeGroupStatus => ({
  ...counts(summary),
  containedNodes: summary.members.map(({ name }) => name),
  nodeStatuses: nodeStatuses(summary),
  conditions: [withReady(old?.conditions, summary, now)],
});

function counts({ members }: PoolSummary): { readyNodeNum: number; unreadyNodeNum: number } {
  const readyNodeNum = members.filter(({ ready }) => ready === 'Ready').length;
  return { readyNodeNum, unreadyNodeNum: members.length - readyNodeNum };
}

function nodeStatuses({ members, refused, missing }: PoolSummary): NodeGroupNodeStatus[] {
  const failed = (nodeName: string, readyStatus: ReadyStatus, reason: string): NodeGroupNodeStatus => ({
    nodeName,
    readyStatus,
    selectionStatus: 'Failed',
    selectionStatusReason: reason,
  });
  return [
    ...members.map<NodeGroupNodeStatus>(({ name, ready }) => ({
      nodeName: name,
      readyStatus: ready,
      selectionStatus: 'Succeeded',
    })),
    ...refused.map(({ name, ready, owner }) =>
      failed(name, ready, `node ${name} has already belonged to NodeGroup ${owner}`),
    ),
    ...missing.map((name) => failed(name, 'Unknown', 'node does not exist')),
  ].toSorted((a, b) => (a.nodeName < b.nodeName ? -1 : 1));
}

/** Returns our own condition only. Server-side apply keeps the conditions of other writers. */
function withReady(old: readonly Condition[] | undefined, summary: PoolSummary, now: number): Condition {
  const update = { type: 'Ready', observedGeneration: summary.generation, ...readiness(summary) };
  return getCondition(setCondition(old ?? [], update, now), 'Ready')!;
}

type Readiness = Pick<ConditionUpdate, 'status' | 'reason' | 'message'>;

/** Reports the most severe problem. */
function readiness({ members, refused, missing, problem, deleting }: PoolSummary): Readiness {
  const not = (reason: string, message: string): Readiness => ({ status: 'False', reason, message });
  const unready = members.filter(({ ready }) => ready !== 'Ready').map(({ name }) => name);
  if (deleting !== undefined) return not('Deleting', deleting);
  if (problem !== undefined)
    return not('InvalidSelector', `The selector is invalid, so it selects no nodes: ${problem}`);
  if (refused.length > 0) {
    const claims = refused.map(({ name, owner }) => `${name} (in ${owner})`);
    return not('NodesRefused', `Nodes are owned by another pool: ${nameList(claims)}`);
  }
  if (missing.length > 0) return not('NodesMissing', `Nodes do not exist: ${nameList(missing)}`);
  if (members.length === 0) return not('NoNodes', 'The pool has no nodes');
  if (unready.length > 0) {
    return not(
      'NodesNotReady',
      `${unready.length} of ${members.length} nodes are not ready: ${nameList(unready)}`,
    );
  }
  return { status: 'True', reason: 'NodesReady', message: allReady(members.length) };
}

const allReady = (count: number): string =>
  count === 1 ? 'The only node is ready' : `All ${count} nodes are ready`;
