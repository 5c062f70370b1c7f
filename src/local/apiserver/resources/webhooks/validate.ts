import type { FieldError } from '../../field-error.ts';
import type { WebhookConfiguration } from './definition.ts';

export const validateWebhookConfiguration = (_: WebhookConfiguration): FieldError[] => [];
