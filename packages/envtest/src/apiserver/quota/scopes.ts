/** Whether a quota counts an object. A quota without scopes counts every object. */
import type { KubeObject } from '@tidegate/kube';
import { qosClass } from '../resources/pod/admission.ts';
import type { Affinity, Pod, PodAffinityTerm } from '../resources/pod/types.ts';
import type { ResourceQuotaSpec, ScopeRequirement } from '../resources/quota/types.ts';
import type { PersistentVolumeClaim } from '../resources/storage/types.ts';

export function isCounted(spec: ResourceQuotaSpec, storage: string, object: KubeObject): boolean {
  const requirements: ScopeRequirement[] = [
    ...(spec.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
    ...(spec.scopeSelector?.matchExpressions ?? []),
  ];
  return requirements.every((requirement) => {
    if (storage === 'pods') return matchesPod(requirement, object as unknown as Pod);
    if (storage === 'persistentvolumeclaims')
      return matchesClaim(requirement, object as PersistentVolumeClaim);
    return false;
  });
}

/** A pod that ends by itself, for example that of a Job with a deadline. */
export const isTerminating = ({ spec }: Pod): boolean => (spec.activeDeadlineSeconds ?? -1) >= 0;

function matchesPod(requirement: ScopeRequirement, pod: Pod): boolean {
  switch (requirement.scopeName) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return qosClass(pod.spec) === 'BestEffort';
    case 'NotBestEffort':
      return qosClass(pod.spec) !== 'BestEffort';
    case 'PriorityClass':
      return matchesName(requirement, pod.spec.priorityClassName);
    case 'CrossNamespacePodAffinity':
      return crossesNamespaces(pod.spec.affinity);
    default:
      return false;
  }
}

const matchesClaim = (requirement: ScopeRequirement, { spec }: PersistentVolumeClaim): boolean =>
  requirement.scopeName === 'VolumeAttributesClass' &&
  matchesName(requirement, spec.volumeAttributesClassName);

function matchesName({ operator, values = [] }: ScopeRequirement, name = ''): boolean {
  switch (operator) {
    case 'Exists':
      return name !== '';
    case 'DoesNotExist':
      return name === '';
    case 'In':
      return values.includes(name);
    default:
      return !values.includes(name);
  }
}

function crossesNamespaces(affinity: Affinity | undefined): boolean {
  const terms: PodAffinityTerm[] = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((one) => [
    ...(one?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(one?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((term) => term.podAffinityTerm ?? {}),
  ]);
  return terms.some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  );
}
