/** The conditions of nodes, and the taints that follow from them. */

import type { Node } from '@tidegate/kube';
import type { NodeCondition, Taint } from 'kubernetes-types/core/v1.d.ts';
import { timestamp } from '../workloads/timestamp.ts';

export const readyOf = (node: Node): NodeCondition | undefined =>
  node.status?.conditions?.find(({ type }) => type === 'Ready');

/** Then the times in the condition are ours, not the node's. */
export const NEVER_UPDATED = 'NodeStatusNeverUpdated';

const OF_KUBELET = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** What is true of a node that is not heard any more: nobody knows. */
export function unknownConditions(node: Node, now: number): NodeCondition[] {
  return OF_KUBELET.flatMap((type) => {
    const old = node.status?.conditions?.find((condition) => condition.type === type);
    if (old?.status === 'Unknown') return [];
    const said =
      old === undefined
        ? { reason: NEVER_UPDATED, message: 'Kubelet never posted node status.' }
        : { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };
    const lastHeartbeatTime = old?.lastHeartbeatTime ?? node.metadata.creationTimestamp ?? undefined;
    return [{ type, status: 'Unknown', ...said, lastHeartbeatTime, lastTransitionTime: timestamp(now) }];
  });
}

const NOT_READY = 'node.kubernetes.io/not-ready';
const UNREACHABLE = 'node.kubernetes.io/unreachable';
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';

const KEYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: 'node.kubernetes.io/memory-pressure' },
  DiskPressure: { True: 'node.kubernetes.io/disk-pressure' },
  PIDPressure: { True: 'node.kubernetes.io/pid-pressure' },
  NetworkUnavailable: { True: 'node.kubernetes.io/network-unavailable' },
};
const OURS = new Set([UNSCHEDULABLE, ...Object.values(KEYS).flatMap((byStatus) => Object.values(byStatus))]);

/**
 * How sure we are that an unready node is lost, and so whether its pods have to go:
 * `lost` they have to; `spared` they stay, since no node is heard and so the fault may be ours; `unclear` what was
 * decided before holds, since we have not listened for long enough.
 */
export type Verdict = 'lost' | 'spared' | 'unclear';

/** The taints to write; undefined when the node has what it should have. People's own taints are left alone. */
export function changedTaints(node: Node, verdict: Verdict, now: number): Taint[] | undefined {
  const current = node.spec?.taints ?? [];
  const wanted = [
    ...keysFor(node).map((key): Taint => ({ key, effect: 'NoSchedule' })),
    ...evictingTaint(node, verdict, now),
  ];
  const kept = current.filter((taint) => !isOurs(taint) || wanted.some((other) => isSame(taint, other)));
  const missing = wanted.filter((taint) => !current.some((other) => isSame(taint, other)));
  return missing.length === 0 && kept.length === current.length ? undefined : [...kept, ...missing];
}

function keysFor(node: Node): string[] {
  const keys = (node.status?.conditions ?? []).flatMap(({ type, status }) => KEYS[type]?.[status] ?? []);
  // A node that has never said anything has the taint that it came with.
  if (readyOf(node) === undefined) keys.push(NOT_READY);
  if (node.spec?.unschedulable === true) keys.push(UNSCHEDULABLE);
  return keys;
}

function evictingTaint(node: Node, verdict: Verdict, now: number): Taint[] {
  const ready = readyOf(node)?.status;
  if (ready === undefined || ready === 'True' || verdict === 'spared') return [];
  const key = ready === 'False' ? NOT_READY : UNREACHABLE;
  const before = (node.spec?.taints ?? []).find((taint) => taint.effect === 'NoExecute' && isOurs(taint));
  // A kubelet that says itself that it is not ready needs no verdict.
  if (verdict === 'unclear' && ready === 'Unknown' && before === undefined) return [];
  return [{ key, effect: 'NoExecute', timeAdded: timestamp(now) }];
}

const isOurs = ({ key, effect }: Taint): boolean =>
  effect === 'NoSchedule'
    ? OURS.has(key)
    : effect === 'NoExecute' && (key === NOT_READY || key === UNREACHABLE);

const isSame = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;
