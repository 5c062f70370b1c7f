import type { FieldError } from '../../field-error.ts';
import type { Node } from './node.ts';

export const validateNode = (_: Node): FieldError[] => [];
export const validateNodeUpdate = (_: Node, _old: Node): FieldError[] => [];
