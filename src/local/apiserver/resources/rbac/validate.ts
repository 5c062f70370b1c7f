import type { FieldError } from '../../field-error.ts';
import type { Role, RoleBinding } from './types.ts';

export const validateRole = (_: Role): FieldError[] => [];
export const validateBinding = (_: RoleBinding, _kind: string): FieldError[] => [];
export const validateBindingUpdate = (_: RoleBinding, _old: RoleBinding): FieldError[] => [];
