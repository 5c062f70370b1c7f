import type { FieldError } from '../../field-error.ts';
import type { IngressClass } from './types.ts';

export const validateIngressClass = (_: IngressClass): FieldError[] => [];
export const validateIngressClassUpdate = (_: IngressClass, _old: IngressClass): FieldError[] => [];
