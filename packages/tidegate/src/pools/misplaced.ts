import { isBeingDeleted, type Labels, meetsNodeRequirement, type Pod } from '@tidegate/kube';
import { EDGE_APPLICATION_LABEL, NODE_GROUP_LABEL, NODE_POOL_LABEL } from '../api/index.ts';

type Considered = (label: string) => boolean;

/**
 * Is the pod on a node where, by the labels of the node, it would not be put any more because of the pool? Kubernetes
 * itself leaves pods alone whose node changes its labels, so only labels of pools count here; for the pods of an
 * EdgeApplication, whose whole placement follows the pools, all do.
 */
export function isMisplaced(pod: Pod, nodeLabels: Labels): boolean {
  if (!mayBeEvicted(pod)) return false;
  const considered: Considered =
    pod.metadata.labels?.[EDGE_APPLICATION_LABEL] === undefined ? isPoolLabel : () => true;
  return !(fitsNodeSelector(pod, nodeLabels, considered) && fitsNodeAffinity(pod, nodeLabels, considered));
}

const isPoolLabel: Considered = (label) => label === NODE_POOL_LABEL || label === NODE_GROUP_LABEL;

/** A DaemonSet moves its pods itself; a mirror pod only shows what the kubelet runs anyway. */
function mayBeEvicted(pod: Pod): boolean {
  const { metadata, status } = pod;
  if (isBeingDeleted(pod)) return false;
  if (metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return false;
  if (metadata.ownerReferences?.some(({ kind, controller }) => controller === true && kind === 'DaemonSet'))
    return false;
  return status?.phase !== 'Succeeded' && status?.phase !== 'Failed';
}

function fitsNodeSelector({ spec }: Pod, labels: Labels, considered: Considered): boolean {
  return Object.entries(spec?.nodeSelector ?? {}).every(
    ([key, value]) => !considered(key) || labels[key] === value,
  );
}

/** One of the terms must fit; what is not considered fits. */
function fitsNodeAffinity({ spec }: Pod, labels: Labels, considered: Considered): boolean {
  const terms =
    spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return (
    terms.length === 0 ||
    terms.some(({ matchExpressions = [] }) =>
      matchExpressions.every(
        (requirement) =>
          // Nobody is evicted for what we do not understand.
          !considered(requirement.key) || (meetsNodeRequirement(requirement, labels) ?? true),
      ),
    )
  );
}
