import type { FieldError } from '../../field-error.ts';
import type { EndpointSlice } from './types.ts';

export const validateEndpointSlice = (_: EndpointSlice): FieldError[] => [];
export const validateEndpointSliceUpdate = (_: EndpointSlice, _old: EndpointSlice): FieldError[] => [];
