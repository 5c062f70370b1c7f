/** The filters that look at one node at a time. */

import type { Pod } from '@tidegate/kube';
import type { Taint } from 'kubernetes-types/core/v1.d.ts';
import type { PlacedNode } from './cluster.ts';
import { hostPortsOf, portsConflict } from './host-ports.ts';
import { matchesNodeSelector, tolerates, toleratesTaints } from './node-fit.ts';
import { type Rejection, resolvable, unresolvable } from './rejection.ts';
import { ONE, requestsOf } from './resources.ts';

/** Undefined when the pod may run on the node. */
export type Filter = (candidate: PlacedNode) => Rejection | undefined;

const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** In the order of kube-scheduler, because only the first rejection of a node is reported. */
export const nodeFilters = (pod: Pod): Filter[] => [
  nodeName(pod),
  nodeUnschedulable(pod),
  taintToleration(pod),
  nodeAffinity(pod),
  nodePorts(pod),
  nodeResourcesFit(pod),
];

/**
 * Nodes named in `matchFields`, as in the pods of a DaemonSet. kube-scheduler evaluates this first and runs no other
 * filter for the remaining nodes.
 */
function nodeName(pod: Pod): Filter {
  const terms =
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const names = terms.map(({ matchFields = [] }) =>
    matchFields
      .filter(({ key, operator }) => key === 'metadata.name' && operator === 'In')
      .flatMap(({ values = [] }) => values),
  );
  if (names.length === 0 || names.some((ofTerm) => ofTerm.length === 0)) return () => undefined;
  const wanted = new Set(names.flat());
  const rejection = unresolvable("node(s) didn't satisfy plugin(s) [NodeAffinity]");
  return ({ node }) => (wanted.has(node.metadata.name ?? '') ? undefined : rejection);
}

function nodeUnschedulable(pod: Pod): Filter {
  const rejection = unresolvable('node(s) were unschedulable');
  const tolerated = (pod.spec?.tolerations ?? []).some((toleration) => tolerates(toleration, UNSCHEDULABLE));
  return ({ node }) => (node.spec?.unschedulable === true && !tolerated ? rejection : undefined);
}

function taintToleration(pod: Pod): Filter {
  const rejection = unresolvable('node(s) had untolerated taint(s)');
  return ({ node }) => (toleratesTaints(pod, node, ['NoSchedule', 'NoExecute']) ? undefined : rejection);
}

function nodeAffinity(pod: Pod): Filter {
  const rejection = unresolvable("node(s) didn't match Pod's node affinity/selector");
  return ({ node }) => (matchesNodeSelector(pod, node) ? undefined : rejection);
}

function nodePorts(pod: Pod): Filter {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return () => undefined;
  const rejection = resolvable("node(s) didn't have free ports for the requested pod ports");
  return ({ load }) => {
    for (const { ports } of load.pods.values()) {
      if (ports.some((used) => wanted.some((port) => portsConflict(used, port)))) return rejection;
    }
    return undefined;
  };
}

function nodeResourcesFit(pod: Pod): Filter {
  const requests = [...requestsOf(pod)].filter(([, amount]) => amount > 0n);
  return ({ load, allocatable }) => {
    const reasons: string[] = [];
    let isResolvable = true;
    if (BigInt(load.pods.size + 1) * ONE > (allocatable.get('pods') ?? 0n)) reasons.push('Too many pods');
    for (const [name, amount] of requests) {
      const total = allocatable.get(name) ?? 0n;
      if (amount <= total - (load.requested.get(name) ?? 0n)) continue;
      reasons.push(`Insufficient ${name}`);
      isResolvable &&= amount <= total;
    }
    return reasons.length === 0 ? undefined : { reasons, resolvable: isResolvable };
  };
}
