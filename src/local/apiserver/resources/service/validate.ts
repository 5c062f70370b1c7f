import type { FieldError } from '../../field-error.ts';
import { validateClusterIPs } from './cluster-ips.ts';
import type { Service } from './types.ts';

export const validateService = ({ spec }: Service): FieldError[] => validateClusterIPs(spec);
export const validateServiceUpdate = (_: Service, _old: Service): FieldError[] => [];
