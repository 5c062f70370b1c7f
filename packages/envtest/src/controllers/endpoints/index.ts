/**
 * Where the pods of a Service answer, as other programs read it. This folder owns the EndpointSlices and Endpoints of
 * Services that select pods, and the mirror of Endpoints that users write themselves.
 *
 * One readiness change: the pod's status reaches the informer -> `changesEndpoints` says that it matters -> the keys of
 * the Services that select the pod (`selection.ts`) are queued, equal ones once -> `wantedGroups` says what the slices
 * have to hold -> `planSlices` which of them to write -> `SliceWriter` writes them, and waits with the next plan until
 * the cache shows what was written.
 */
export { endpointsController } from './endpoints-controller.ts';
export { endpointSliceMirroringController } from './mirroring-controller.ts';
export { endpointSliceController } from './slice-controller.ts';
