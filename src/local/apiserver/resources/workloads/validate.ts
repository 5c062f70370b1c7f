import type { FieldError } from '../../field-error.ts';
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from './types.ts';

export const validateDeployment = (_: Deployment): FieldError[] => [];
export const validateDeploymentUpdate = (_: Deployment, _old: Deployment): FieldError[] => [];
export const validateReplicaSet = (_: ReplicaSet): FieldError[] => [];
export const validateReplicaSetUpdate = (_: ReplicaSet, _old: ReplicaSet): FieldError[] => [];
export const validateStatefulSet = (_: StatefulSet): FieldError[] => [];
export const validateStatefulSetUpdate = (_: StatefulSet, _old: StatefulSet): FieldError[] => [];
export const validateDaemonSet = (_: DaemonSet): FieldError[] => [];
export const validateDaemonSetUpdate = (_: DaemonSet, _old: DaemonSet): FieldError[] => [];
