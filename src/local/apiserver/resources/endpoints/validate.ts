import type { FieldError } from '../../field-error.ts';
import type { Endpoints } from './types.ts';

export const validateEndpoints = (_: Endpoints): FieldError[] => [];
export const endpointsWarnings = (_: Endpoints): string[] => [];
