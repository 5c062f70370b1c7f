import type { FieldError } from '../../field-error.ts';
import type { PodDisruptionBudget } from './poddisruptionbudget.ts';

export const validatePodDisruptionBudget = (_: PodDisruptionBudget): FieldError[] => [];
