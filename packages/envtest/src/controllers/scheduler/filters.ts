/** What keeps a pod off a node, whatever the other nodes look like. */

import type { Pod } from '@tidegate/kube';
import type { Taint } from 'kubernetes-types/core/v1.d.ts';
import type { PlacedNode } from './cluster.ts';
import { hostPortsOf, portsConflict } from './host-ports.ts';
import { matchesNodeSelector, tolerates, toleratesTaints } from './node-fit.ts';
import { lasting, passing, type Rejection } from './rejection.ts';
import { ONE, requestsOf } from './resources.ts';

/** Undefined: the node will do. */
export type Filter = (candidate: PlacedNode) => Rejection | undefined;

const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** In the order of kube-scheduler, whose first objection to a node is the one that is told. */
export const nodeFilters = (pod: Pod): Filter[] => [
  named(pod),
  schedulable(pod),
  tainted(pod),
  selected(pod),
  portsFree(pod),
  roomy(pod),
];

/** Pods of a DaemonSet name their node. Nothing else is said of the others then. */
function named(pod: Pod): Filter {
  const terms =
    pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const names = terms.map(({ matchFields = [] }) =>
    matchFields
      .filter(({ key, operator }) => key === 'metadata.name' && operator === 'In')
      .flatMap(({ values = [] }) => values),
  );
  if (names.length === 0 || names.some((ofTerm) => ofTerm.length === 0)) return () => undefined;
  const wanted = new Set(names.flat());
  const rejection = lasting("node(s) didn't satisfy plugin(s) [NodeAffinity]");
  return ({ node }) => (wanted.has(node.metadata.name ?? '') ? undefined : rejection);
}

function schedulable(pod: Pod): Filter {
  const rejection = lasting('node(s) were unschedulable');
  const tolerated = (pod.spec?.tolerations ?? []).some((toleration) => tolerates(toleration, UNSCHEDULABLE));
  return ({ node }) => (node.spec?.unschedulable === true && !tolerated ? rejection : undefined);
}

function tainted(pod: Pod): Filter {
  const rejection = lasting('node(s) had untolerated taint(s)');
  return ({ node }) => (toleratesTaints(pod, node, ['NoSchedule', 'NoExecute']) ? undefined : rejection);
}

function selected(pod: Pod): Filter {
  const rejection = lasting("node(s) didn't match Pod's node affinity/selector");
  return ({ node }) => (matchesNodeSelector(pod, node) ? undefined : rejection);
}

function portsFree(pod: Pod): Filter {
  const wanted = hostPortsOf(pod);
  if (wanted.length === 0) return () => undefined;
  const rejection = passing("node(s) didn't have free ports for the requested pod ports");
  return ({ load }) => {
    for (const { ports } of load.pods.values()) {
      if (ports.some((used) => wanted.some((port) => portsConflict(used, port)))) return rejection;
    }
    return undefined;
  };
}

function roomy(pod: Pod): Filter {
  const requests = [...requestsOf(pod)].filter(([, amount]) => amount > 0n);
  return ({ load, allocatable }) => {
    const reasons: string[] = [];
    let mayPass = true;
    if (BigInt(load.pods.size + 1) * ONE > (allocatable.get('pods') ?? 0n)) reasons.push('Too many pods');
    for (const [name, amount] of requests) {
      const total = allocatable.get(name) ?? 0n;
      if (amount <= total - (load.requested.get(name) ?? 0n)) continue;
      reasons.push(`Insufficient ${name}`);
      mayPass &&= amount <= total;
    }
    return reasons.length === 0 ? undefined : { reasons, passing: mayPass };
  };
}
