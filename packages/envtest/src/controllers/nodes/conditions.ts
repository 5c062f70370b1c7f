/** The conditions of nodes, and the taints that follow from them. */

import { type Node, ownField } from '@tidegate/kube';
import type { NodeCondition, Taint } from 'kubernetes-types/core/v1.d.ts';
import { timestamp } from '../timestamp.ts';

/** The Ready condition of the node; undefined before the first report of its kubelet. */
export const readyOf = (node: Node): NodeCondition | undefined =>
  node.status?.conditions?.find(({ type }) => type === 'Ready');

/** The reason of conditions that this controller has created; their times do not come from the node. */
export const NEVER_UPDATED = 'NodeStatusNeverUpdated';

const KUBELET_CONDITIONS = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** The conditions of a node that no longer sends heartbeats: Unknown. */
export function unknownConditions(node: Node, now: number): NodeCondition[] {
  return KUBELET_CONDITIONS.flatMap((type) => {
    const old = node.status?.conditions?.find((condition) => condition.type === type);
    if (old?.status === 'Unknown') return [];
    const explanation =
      old === undefined
        ? { reason: NEVER_UPDATED, message: 'Kubelet never posted node status.' }
        : { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };
    const lastHeartbeatTime = old?.lastHeartbeatTime ?? node.metadata.creationTimestamp ?? undefined;
    return [
      { type, status: 'Unknown', ...explanation, lastHeartbeatTime, lastTransitionTime: timestamp(now) },
    ];
  });
}

const NOT_READY = 'node.kubernetes.io/not-ready';
const UNREACHABLE = 'node.kubernetes.io/unreachable';
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';

const TAINT_KEYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: 'node.kubernetes.io/memory-pressure' },
  DiskPressure: { True: 'node.kubernetes.io/disk-pressure' },
  PIDPressure: { True: 'node.kubernetes.io/pid-pressure' },
  NetworkUnavailable: { True: 'node.kubernetes.io/network-unavailable' },
};
const MANAGED_KEYS = new Set([
  UNSCHEDULABLE,
  ...Object.values(TAINT_KEYS).flatMap((byStatus) => Object.values(byStatus)),
]);

/**
 * Why the heartbeats of a node are missing, which decides whether its pods are evicted.
 *
 * - `node`: evict. Other nodes send heartbeats, so the problem is at this node.
 * - `cluster`: do not evict. No node sends heartbeats, so the problem may be on the side of the control plane.
 * - `unknown`: keep the previous decision. This process has not run for long enough.
 */
export type NodeLossCause = 'node' | 'cluster' | 'unknown';

/** The new taints of a node; undefined when they are already correct. Taints set by users are kept. */
export function changedTaints(node: Node, cause: NodeLossCause, now: number): Taint[] | undefined {
  const current = node.spec?.taints ?? [];
  const wanted = [
    ...keysFor(node).map((key): Taint => ({ key, effect: 'NoSchedule' })),
    ...evictingTaint(node, cause, now),
  ];
  const kept = current.filter((taint) => !isManaged(taint) || wanted.some((other) => isSame(taint, other)));
  const missing = wanted.filter((taint) => !current.some((other) => isSame(taint, other)));
  return missing.length === 0 && kept.length === current.length ? undefined : [...kept, ...missing];
}

function keysFor(node: Node): string[] {
  const keys = (node.status?.conditions ?? []).flatMap(
    ({ type, status }) => ownField(ownField(TAINT_KEYS, type), status) ?? [],
  );
  // A node without a status keeps the taint with which it registered.
  if (readyOf(node) === undefined) keys.push(NOT_READY);
  if (node.spec?.unschedulable === true) keys.push(UNSCHEDULABLE);
  return keys;
}

function evictingTaint(node: Node, cause: NodeLossCause, now: number): Taint[] {
  const ready = readyOf(node)?.status;
  if (ready === undefined || ready === 'True' || cause === 'cluster') return [];
  const key = ready === 'False' ? NOT_READY : UNREACHABLE;
  const before = (node.spec?.taints ?? []).find((taint) => taint.effect === 'NoExecute' && isManaged(taint));
  // A kubelet that reports NotReady itself is reachable, so no decision about node loss is needed.
  if (cause === 'unknown' && ready === 'Unknown' && before === undefined) return [];
  return [{ key, effect: 'NoExecute', timeAdded: timestamp(now) }];
}

const isManaged = ({ key, effect }: Taint): boolean =>
  effect === 'NoSchedule'
    ? MANAGED_KEYS.has(key)
    : effect === 'NoExecute' && (key === NOT_READY || key === UNREACHABLE);

const isSame = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;
