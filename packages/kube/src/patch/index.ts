/**
 * `@tidegate/kube/patch`: the three patch formats of the Kubernetes API as pure functions on JSON. An API server, a proxy
 * that predicts what the server will do, and controllers that let users patch objects share them.
 *
 *   JSON Patch (RFC 6902)         json-patch: each operation looks up a place, and reads, adds or removes there
 *   JSON Merge Patch (RFC 7386)   merge-patch
 *   strategic merge patch         strategic-merge walks maps, strategic-list merges lists by key,
 *                                 strategic-directives reads the `$` fields
 *
 * They are our own code because they must behave like kube-apiserver in every corner, and npm has no strategic merge. The
 * API server of this project is tested against recorded answers of the real one.
 */
export { applyJsonPatch, type JsonPatchCost, type JsonPatchOperation } from './json-patch.ts';
export { JsonPatchError, type JsonPatchProblem } from './json-patch-error.ts';
export type { JsonPatchDialect } from './json-patch-place.ts';
export { parsePointer, toPointer } from './json-pointer.ts';
export { applyMergePatch } from './merge-patch.ts';
export { StrategicMergeError, type StrategicMergeProblem } from './strategic-error.ts';
export { applyStrategicMergePatch, type FieldStrategy, type StrategyOf } from './strategic-merge.ts';
