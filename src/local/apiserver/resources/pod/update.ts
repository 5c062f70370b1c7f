import type { FieldError } from '../../field-error.ts';
import type { Pod } from './types.ts';

export function validatePodUpdate(_pod: Pod, _old: Pod): FieldError[] {
  return [];
}
