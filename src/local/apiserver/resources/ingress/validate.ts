import type { FieldError } from '../../field-error.ts';
import type { Ingress } from './types.ts';

export const validateIngress = (_: Ingress): FieldError[] => [];
export const validateIngressUpdate = (_: Ingress, _old: Ingress): FieldError[] => [];
