import type { DaemonSet, Node, Pod } from '@tidegate/kube';
import { isTerminating } from '../../pods/index.ts';
import { matchesNodeSelector, toleratesTaints } from '../../scheduler/node-fit.ts';
import { daemonTolerations, targetNode } from './pods.ts';

/** One node from the view of one DaemonSet. */
export interface Place {
  node: string;
  /** A daemon should be started here. */
  wanted: boolean;
  /** One that is here may stay. */
  tolerated: boolean;
  /** Its pods here, without those that have ended and are about to be gone. The oldest first. */
  pods: Pod[];
}

export interface Places {
  /** Every node, in the order of their names. */
  places: Place[];
  /** Pods that wait for a node that is no more. */
  stranded: Pod[];
}

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

/** The template as a pod, to be held against nodes. */
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

export const hasEnded = ({ status }: Pod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** Bound before unbound, then the oldest first: what would be a pity to lose comes first. */
function byStart(a: Pod, b: Pod): number {
  const bound = Number(!a.spec?.nodeName) - Number(!b.spec?.nodeName);
  const age = Date.parse(a.metadata.creationTimestamp ?? '') - Date.parse(b.metadata.creationTimestamp ?? '');
  return bound || age || (a.metadata.name! < b.metadata.name! ? -1 : 1);
}
