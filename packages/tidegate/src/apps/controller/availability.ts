import {
  type Condition,
  type CronJob,
  type DaemonSet,
  type Deployment,
  getCondition,
  isBeingDeleted,
  isConditionTrue,
  type Job,
  type KubeObject,
  type Pod,
  parseApiVersion,
  type ReplicaSet,
  type StatefulSet,
} from '@tidegate/kube';
import { type Availability, available, isObserved, NOT_OBSERVED, rollingOut } from './availability-result.ts';
import {
  ofApiService,
  ofAutoscaler,
  ofClaim,
  ofConditions,
  ofDefinition,
  ofDisruptionBudget,
  ofNamespace,
} from './conditions.ts';

/**
 * Returns whether an object is available: workloads by the same rules as `kubectl rollout status`, other kinds by their own
 * conditions (conditions.ts).
 */
export function availabilityOf(object: KubeObject): Availability {
  if (isBeingDeleted(object))
    return { available: false, reason: 'Terminating', message: 'the object is being deleted' };
  switch (`${parseApiVersion(object.apiVersion).group}/${object.kind}`) {
    case 'apps/Deployment':
      return ofDeployment(object as Deployment);
    case 'apps/ReplicaSet':
      return ofReplicaSet(object as ReplicaSet);
    case 'apps/StatefulSet':
      return ofStatefulSet(object as StatefulSet);
    case 'apps/DaemonSet':
      return ofDaemonSet(object as DaemonSet);
    case 'batch/Job':
      return ofJob(object as Job);
    case 'batch/CronJob':
      return available(`the schedule is ${(object as CronJob).spec?.schedule}`);
    case '/Pod':
      return ofPod(object as Pod);
    case '/PersistentVolumeClaim':
      return ofClaim(object);
    case '/Namespace':
      return ofNamespace(object);
    case 'autoscaling/HorizontalPodAutoscaler':
      return ofAutoscaler(object);
    case 'policy/PodDisruptionBudget':
      return ofDisruptionBudget(object);
    case 'apiextensions.k8s.io/CustomResourceDefinition':
      return ofDefinition(object);
    case 'apiregistration.k8s.io/APIService':
      return ofApiService(object);
    default:
      return ofConditions(object);
  }
}

function ofDeployment(deployment: Deployment): Availability {
  if (!isObserved(deployment)) return NOT_OBSERVED;
  const wanted = deployment.spec?.replicas ?? 1;
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0, conditions } = deployment.status ?? {};
  const progressing = getCondition((conditions ?? []) as Condition[], 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded')
    return { available: false, reason: progressing.reason, message: progressing.message };
  if (updatedReplicas < wanted) return rollingOut(`${updatedReplicas} of ${wanted} pods are updated`);
  if (replicas > updatedReplicas)
    return rollingOut(`waiting for old pods to terminate: ${replicas - updatedReplicas}`);
  return enough(availableReplicas, wanted);
}

const enough = (count: number, wanted: number): Availability =>
  count < wanted
    ? rollingOut(`${count} of ${wanted} pods are available`)
    : available(wanted === 0 ? 'no pods are desired' : `${count} of ${wanted} pods are available`);

const ofReplicaSet = (set: ReplicaSet): Availability =>
  isObserved(set) ? enough(set.status?.availableReplicas ?? 0, set.spec?.replicas ?? 1) : NOT_OBSERVED;

function ofStatefulSet(set: StatefulSet): Availability {
  if (!isObserved(set)) return NOT_OBSERVED;
  const wanted = set.spec?.replicas ?? 1;
  const { updateStrategy } = set.spec ?? {};
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = set.status ?? {};
  // Pods with an ordinal below the partition keep the old revision, and OnDelete never updates pods by itself.
  const toUpdate =
    updateStrategy?.type === 'OnDelete' ? 0 : wanted - (updateStrategy?.rollingUpdate?.partition ?? 0);
  if (updatedReplicas < toUpdate) return rollingOut(`${updatedReplicas} of ${toUpdate} pods are updated`);
  if (replicas > wanted) return rollingOut(`waiting for excess pods to terminate: ${replicas - wanted}`);
  return enough(availableReplicas, wanted);
}

function ofDaemonSet(set: DaemonSet): Availability {
  if (!isObserved(set)) return NOT_OBSERVED;
  const { desiredNumberScheduled = 0, updatedNumberScheduled = 0, numberAvailable = 0 } = set.status ?? {};
  if (set.spec?.updateStrategy?.type !== 'OnDelete' && updatedNumberScheduled < desiredNumberScheduled)
    return rollingOut(`${updatedNumberScheduled} of ${desiredNumberScheduled} pods are updated`);
  return enough(numberAvailable, desiredNumberScheduled);
}

function ofJob({ status, spec }: Job): Availability {
  const conditions = (status?.conditions ?? []) as Condition[];
  const failed = getCondition(conditions, 'Failed');
  if (failed?.status === 'True')
    return { available: false, reason: 'JobFailed', message: failed.message || 'the job has failed' };
  if (isConditionTrue(conditions, 'Complete')) return available('the job is complete');
  return rollingOut(`${status?.succeeded ?? 0} of ${spec?.completions ?? 1} pods have succeeded`);
}

function ofPod({ status }: Pod): Availability {
  if (status?.phase === 'Succeeded') return available('the pod has succeeded');
  if (status?.phase === 'Failed')
    return { available: false, reason: 'PodFailed', message: status.message || 'the pod has failed' };
  return isConditionTrue((status?.conditions ?? []) as Condition[], 'Ready')
    ? available('the pod is ready')
    : rollingOut(`the pod is ${status?.phase === 'Running' ? 'running and not ready' : 'not running yet'}`);
}
