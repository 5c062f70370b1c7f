/** The ConfigMaps and Secrets that pods of this node refer to, for their volumes and their environments. */
export { keyOfReference, podReferences, type Reference, type ReferencedKind } from './pod-references.ts';
export { type Referenced, References, type ReferencesOptions, ReferenceTimeoutError } from './references.ts';
