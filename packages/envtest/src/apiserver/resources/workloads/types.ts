/** The fields of the apps and batch kinds that the server uses. */
import type { KubeObject, ObjectMeta } from '@tidegate/kube';
import type { ClaimSpec, IntOrString, PodTemplateSpec } from '../pod/types.ts';
import type { LabelSelector } from '../validation/selectors.ts';

export interface RollingUpdate {
  maxUnavailable?: IntOrString;
  maxSurge?: IntOrString;
  partition?: number;
}

export interface UpdateStrategy {
  type?: string;
  rollingUpdate?: RollingUpdate;
}

export interface Deployment extends KubeObject {
  spec: {
    replicas?: number;
    selector?: LabelSelector;
    template?: PodTemplateSpec;
    strategy?: UpdateStrategy;
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
    progressDeadlineSeconds?: number;
    paused?: boolean;
  };
  status: {
    replicas?: number;
    updatedReplicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    unavailableReplicas?: number;
    observedGeneration?: number;
    collisionCount?: number;
  };
}

export interface ReplicaSet extends KubeObject {
  spec: { replicas?: number; selector?: LabelSelector; template?: PodTemplateSpec; minReadySeconds?: number };
  status: {
    replicas?: number;
    readyReplicas?: number;
    availableReplicas?: number;
    fullyLabeledReplicas?: number;
    observedGeneration?: number;
  };
}

export interface ReplicationController extends KubeObject {
  spec: {
    replicas?: number;
    selector?: Record<string, string>;
    template?: PodTemplateSpec;
    minReadySeconds?: number;
  };
  status: ReplicaSet['status'];
}

export interface PodTemplate extends KubeObject {
  template?: PodTemplateSpec;
}

export interface VolumeClaimTemplate {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
  spec?: ClaimSpec;
  status?: { phase?: string };
}

export interface StatefulSet extends KubeObject {
  spec: {
    replicas?: number;
    selector?: LabelSelector;
    template?: PodTemplateSpec;
    serviceName?: string;
    podManagementPolicy?: string;
    updateStrategy?: UpdateStrategy;
    revisionHistoryLimit?: number;
    minReadySeconds?: number;
    ordinals?: { start?: number };
    persistentVolumeClaimRetentionPolicy?: { whenDeleted?: string; whenScaled?: string };
    volumeClaimTemplates?: VolumeClaimTemplate[];
  };
  status: { replicas?: number; readyReplicas?: number; availableReplicas?: number };
}

export interface DaemonSet extends KubeObject {
  spec: {
    selector?: LabelSelector;
    template?: PodTemplateSpec;
    updateStrategy?: UpdateStrategy;
    minReadySeconds?: number;
    revisionHistoryLimit?: number;
  };
  status: {
    currentNumberScheduled?: number;
    numberMisscheduled?: number;
    desiredNumberScheduled?: number;
    numberReady?: number;
    updatedNumberScheduled?: number;
    numberAvailable?: number;
  };
}

export interface ControllerRevision extends KubeObject {
  data?: unknown;
  revision?: number;
}

export interface JobSpec {
  parallelism?: number;
  completions?: number;
  completionMode?: string;
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  maxFailedIndexes?: number;
  activeDeadlineSeconds?: number;
  ttlSecondsAfterFinished?: number;
  suspend?: boolean;
  manualSelector?: boolean;
  selector?: LabelSelector;
  template?: PodTemplateSpec;
  podReplacementPolicy?: string;
  podFailurePolicy?: { rules?: { onPodConditions?: { status?: string }[] }[] };
  successPolicy?: unknown;
  managedBy?: string;
}

export interface Job extends KubeObject {
  spec: JobSpec;
  status: {
    succeeded?: number;
    startTime?: string;
    completionTime?: string;
    conditions?: { type?: string; status?: string }[];
  };
}

export interface CronJob extends KubeObject {
  spec: {
    schedule?: string;
    timeZone?: string;
    concurrencyPolicy?: string;
    suspend?: boolean;
    startingDeadlineSeconds?: number;
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
    jobTemplate?: { metadata?: ObjectMeta; spec?: JobSpec };
  };
  status: { active?: unknown[]; lastScheduleTime?: string };
}
