import type { FieldError } from '../../field-error.ts';
import type { Event } from './event.ts';

export const validateEvent = (_: Event): FieldError[] => [];
