/** The ConfigMaps and Secrets that pods of this node refer to, for their volumes and their environments. */
export { podReferences, type ReferencedKind } from './pod-references.ts';
export { type Referenced, References, ReferenceTimeoutError } from './references.ts';
