import type { FieldError } from '../../field-error.ts';
import type { Pod } from './types.ts';

export function validatePod(_pod: Pod): FieldError[] {
  return [];
}
