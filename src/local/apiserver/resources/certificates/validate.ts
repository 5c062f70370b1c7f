import type { FieldError } from '../../field-error.ts';
import type { CertificateSigningRequest } from './definition.ts';

export const validateSigningRequest = (_: CertificateSigningRequest): FieldError[] => [];
export const validateSigningRequestUpdate = (
  _: CertificateSigningRequest,
  _old: CertificateSigningRequest,
): FieldError[] => [];
