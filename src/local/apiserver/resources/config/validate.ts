import type { FieldError } from '../../field-error.ts';
import type { ConfigMap } from './configmap.ts';
import type { Secret } from './secret.ts';

export const validateConfigMap = (_: ConfigMap): FieldError[] => [];
export const validateConfigMapUpdate = (_: ConfigMap, _old: ConfigMap): FieldError[] => [];
export const validateSecret = (_: Secret): FieldError[] => [];
export const validateSecretUpdate = (_: Secret, _old: Secret): FieldError[] => [];
