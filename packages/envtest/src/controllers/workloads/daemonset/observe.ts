import type { DaemonSet, Node, Pod } from '@tidegate/kube';
import { isTerminating } from '../../pods/index.ts';
import { matchesNodeSelector, toleratesTaints } from '../../scheduler/node-fit.ts';
import { daemonTolerations, targetNode } from './pods.ts';

/** One node as seen by one DaemonSet. */
export interface Place {
  node: string;
  /** The node should have a daemon pod. */
  wanted: boolean;
  /** A daemon pod that is already here may stay. */
  tolerated: boolean;
  /** The DaemonSet's pods on the node, oldest first, without finished pods that are terminating. */
  pods: Pod[];
}

/** The daemon pods by node. */
export interface Places {
  /** All nodes, sorted by name. */
  places: Place[];
  /** Pods that wait for a node that no longer exists. */
  stranded: Pod[];
}

/**
 * Assigns each pod to the node that it runs on or is meant for, and decides for each node whether it should have one.
 */
export function observePlaces(daemonSet: DaemonSet, nodes: readonly Node[], pods: readonly Pod[]): Places {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods) {
    const node = targetNode(pod);
    if (node === undefined || (isTerminating(pod) && hasEnded(pod))) continue;
    byNode.set(node, [...(byNode.get(node) ?? []), pod]);
  }
  const sample = samplePod(daemonSet);
  const places = nodes.map((node) => {
    const name = node.metadata.name ?? '';
    const here = (byNode.get(name) ?? []).toSorted(byStart);
    byNode.delete(name);
    return { node: name, ...fitOf(sample, node), pods: here };
  });
  const stranded = [...byNode.values()].flat().filter((pod) => !pod.spec?.nodeName && !isTerminating(pod));
  return { places: places.toSorted((a, b) => (a.node < b.node ? -1 : 1)), stranded };
}

/** A pod with the template's spec, to be matched against nodes. */
function samplePod({ spec, metadata }: DaemonSet): Pod {
  const { template } = spec!;
  const tolerations = daemonTolerations(template.spec);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: metadata.namespace },
    spec: { containers: [], ...template.spec, tolerations },
  };
}

function fitOf(pod: Pod, node: Node): Pick<Place, 'wanted' | 'tolerated'> {
  const named = !pod.spec?.nodeName || pod.spec.nodeName === node.metadata.name;
  if (!named || !matchesNodeSelector(pod, node)) return { wanted: false, tolerated: false };
  return {
    wanted: toleratesTaints(pod, node, ['NoSchedule', 'NoExecute']),
    tolerated: toleratesTaints(pod, node, ['NoExecute']),
  };
}

/** The containers of the pod have stopped for good. */
export const hasEnded = ({ status }: Pod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Bound pods before unbound ones, then the oldest first: the first pod is the one to keep. */
function byStart(a: Pod, b: Pod): number {
  const bound = Number(!a.spec?.nodeName) - Number(!b.spec?.nodeName);
  const age = Date.parse(a.metadata.creationTimestamp ?? '') - Date.parse(b.metadata.creationTimestamp ?? '');
  return bound || age || (a.metadata.name! < b.metadata.name! ? -1 : 1);
}
