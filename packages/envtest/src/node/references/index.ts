/** The ConfigMaps and Secrets that the pods of this node refer to, for their volumes and environments. */
export { podReferences, type ReferencedKind } from './pod-references.ts';
export { type Referenced, References, ReferenceTimeoutError } from './references.ts';
