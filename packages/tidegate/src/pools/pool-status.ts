import { type Condition, type ConditionUpdate, getCondition, type Node, setCondition } from '@tidegate/kube';
import type { NodeGroupNodeStatus, NodeGroupStatus, NodePoolStatus, ReadyStatus } from '../api/index.ts';
import { namesInText } from './names-in-text.ts';

/** All that the status of a pool tells, of either kind. */
export interface PoolView {
  generation: number | undefined;
  /** The nodes of the pool, by name. */
  members: readonly { name: string; ready: ReadyStatus }[];
  /** Nodes that it wants and another pool has. */
  refused: readonly { name: string; ready: ReadyStatus; owner: string }[];
  /** Nodes that it names and that do not exist. */
  missing: readonly string[];
  /** Why its selector can not be used. */
  problem?: string;
  /** It is to be deleted: what holds it. */
  deleting?: string;
}

export function readyStatusOf(node: Node | undefined): ReadyStatus {
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  if (ready === 'True') return 'Ready';
  return ready === 'False' ? 'NotReady' : 'Unknown';
}

export const nodePoolStatus = (
  old: NodePoolStatus | undefined,
  view: PoolView,
  now: number,
): NodePoolStatus => ({
  ...counts(view),
  nodes: view.members.map(({ name }) => name),
  conditions: [withReady(old?.conditions, view, now)],
});

export const nodeGroupStatus = (
  old: NodeGroupStatus | undefined,
  view: PoolView,
  now: number,
): NodeGroupStatus => ({
  ...counts(view),
  containedNodes: view.members.map(({ name }) => name),
  nodeStatuses: nodeStatuses(view),
  conditions: [withReady(old?.conditions, view, now)],
});

function counts({ members }: PoolView): { readyNodeNum: number; unreadyNodeNum: number } {
  const readyNodeNum = members.filter(({ ready }) => ready === 'Ready').length;
  return { readyNodeNum, unreadyNodeNum: members.length - readyNodeNum };
}

function nodeStatuses({ members, refused, missing }: PoolView): NodeGroupNodeStatus[] {
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

/** Only our own condition: whoever else writes some keeps theirs. */
function withReady(old: readonly Condition[] | undefined, view: PoolView, now: number): Condition {
  const update = { type: 'Ready', observedGeneration: view.generation, ...readiness(view) };
  return getCondition(setCondition(old ?? [], update, now), 'Ready')!;
}

type Readiness = Pick<ConditionUpdate, 'status' | 'reason' | 'message'>;

/** The worst that is to be said comes first. */
function readiness({ members, refused, missing, problem, deleting }: PoolView): Readiness {
  const not = (reason: string, message: string): Readiness => ({ status: 'False', reason, message });
  const unready = members.filter(({ ready }) => ready !== 'Ready').map(({ name }) => name);
  if (deleting !== undefined) return not('Deleting', deleting);
  if (problem !== undefined) return not('InvalidSelector', `the selector selects nothing: ${problem}`);
  if (refused.length > 0) {
    const claims = refused.map(({ name, owner }) => `${name} (in ${owner})`);
    return not('NodesRefused', `nodes that another pool has: ${namesInText(claims)}`);
  }
  if (missing.length > 0) return not('NodesMissing', `nodes that do not exist: ${namesInText(missing)}`);
  if (members.length === 0) return not('NoNodes', 'no node is in this pool');
  if (unready.length > 0) {
    return not('NodesNotReady', `${unready.length} of ${members.length} nodes: ${namesInText(unready)}`);
  }
  return { status: 'True', reason: 'NodesReady', message: `all nodes are ready: ${members.length}` };
}
