import type { DaemonSet, Pod } from '@tidegate/kube';
import type { Affinity, PodSpec, Toleration } from 'kubernetes-types/core/v1.d.ts';
import { podFromTemplate } from '../../pods/index.ts';

/** The label that names the revision of the template from which a pod was created. */
export const REVISION_HASH = 'controller-revision-hash';
const TEMPLATE_GENERATION = 'pod-template-generation';
const DEPRECATED_GENERATION = 'deprecated.daemonset.template.generation';
const NODE_NAME = 'metadata.name';

/** Taints that daemon pods tolerate: a problem of the node must not evict them or keep them away. */
const TOLERATED: readonly [taint: string, effect: string][] = [
  ['not-ready', 'NoExecute'],
  ['unreachable', 'NoExecute'],
  ['disk-pressure', 'NoSchedule'],
  ['memory-pressure', 'NoSchedule'],
  ['pid-pressure', 'NoSchedule'],
  ['unschedulable', 'NoSchedule'],
];
const NETWORK_UNAVAILABLE = ['network-unavailable', 'NoSchedule'] as const;

/** The pod for one node. The scheduler binds it there, because its node affinity names this node only. */
export function newPod(daemonSet: DaemonSet, node: string, hash: string): Pod {
  const { template } = daemonSet.spec!;
  const generation = daemonSet.metadata.annotations?.[DEPRECATED_GENERATION];
  return podFromTemplate(daemonSet, template, {
    labels: {
      ...(generation === undefined ? {} : { [TEMPLATE_GENERATION]: generation }),
      [REVISION_HASH]: hash,
    },
    spec: {
      affinity: onlyOn(node, template.spec?.affinity),
      tolerations: daemonTolerations(template.spec),
    },
  });
}

/** The tolerations of the template and those that every daemon pod gets. */
export function daemonTolerations(spec: PodSpec | undefined): Toleration[] {
  const { tolerations = [], hostNetwork } = spec ?? {};
  const added = (hostNetwork === true ? [...TOLERATED, NETWORK_UNAVAILABLE] : TOLERATED).map(
    ([taint, effect]) => ({ key: `node.kubernetes.io/${taint}`, operator: 'Exists', effect }),
  );
  const own = tolerations.filter(
    ({ key, operator, effect, value }) =>
      value ||
      !added.some((other) => other.key === key && other.operator === operator && other.effect === effect),
  );
  return [...own, ...added];
}

/** Replaces the template's required node affinity, which was already checked when the node was chosen. */
function onlyOn(node: string, affinity: Affinity | undefined): Affinity {
  const matchFields = [{ key: NODE_NAME, operator: 'In', values: [node] }];
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
    },
  };
}

/** The node that a pod runs on or waits for. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec?.nodeName) return spec.nodeName;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required?.nodeSelectorTerms
    .flatMap(({ matchFields = [] }) => matchFields)
    .find(({ key, operator }) => key === NODE_NAME && operator === 'In')?.values?.[0];
}

/** Whether the pod was created from the current template. */
export const isUpdated = (pod: Pod, hash: string): boolean => pod.metadata.labels?.[REVISION_HASH] === hash;
