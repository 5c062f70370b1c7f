import { isBeingDeleted, type Labels, meetsNodeRequirement, type Pod } from '@tidegate/kube';
import { EDGE_APPLICATION_LABEL, NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';

type LabelFilter = (label: string) => boolean;

/**
 * Whether the scheduler would no longer place the pod on its node because the node left the pod's pool. Kubernetes does
 * not evict pods when the labels of their node change, so only pool labels count here. For pods of an EdgeApplication,
 * whose placement follows the pools, all labels count.
 */
export function isMisplaced(pod: Pod, nodeLabels: Labels): boolean {
  if (!mayBeEvicted(pod)) return false;
  const considered: LabelFilter =
    pod.metadata.labels?.[EDGE_APPLICATION_LABEL] === undefined ? isPoolLabel : () => true;
  return !(fitsNodeSelector(pod, nodeLabels, considered) && fitsNodeAffinity(pod, nodeLabels, considered));
}

/**
 * Whether the pod may run on a node outside of all pools. It does not belong to a site then. An example is a manager of Tidegate.
 * EdgeApplications belong to their pools, whatever their pods require.
 */
export const fitsOutsidePools = (pod: Pod): boolean =>
  pod.metadata.labels?.[EDGE_APPLICATION_LABEL] === undefined &&
  fitsNodeSelector(pod, {}, isPoolLabel) &&
  fitsNodeAffinity(pod, {}, isPoolLabel);

const isPoolLabel: LabelFilter = (label) => label === NODE_POOL_LABEL || label === NODE_GROUP_LABEL;

/** DaemonSets move their pods themselves, and mirror pods only reflect static pods of the kubelet. */
function mayBeEvicted(pod: Pod): boolean {
  const { metadata, status } = pod;
  if (isBeingDeleted(pod)) return false;
  if (metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return false;
  if (metadata.ownerReferences?.some(({ kind, controller }) => controller === true && kind === 'DaemonSet'))
    return false;
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
}

function fitsNodeSelector({ spec }: Pod, labels: Labels, considered: LabelFilter): boolean {
  return Object.entries(spec?.nodeSelector ?? {}).every(
    ([key, value]) => !considered(key) || labels[key] === value,
  );
}

/** One of the terms must match. Requirements on labels that are not considered count as met. */
function fitsNodeAffinity({ spec }: Pod, labels: Labels, considered: LabelFilter): boolean {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return (
    terms.length === 0 ||
    terms.some(({ matchExpressions = [] }) =>
      matchExpressions.every(
        (requirement) =>
          // An unknown operator never evicts a pod.
          !considered(requirement.key) || (meetsNodeRequirement(requirement, labels) ?? true),
      ),
    )
  );
}
