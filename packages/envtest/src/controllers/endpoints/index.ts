/**
 * Publishes the addresses of the pods behind a Service. This folder owns the EndpointSlices and Endpoints of
 * Services that select pods, and the mirrored EndpointSlices of Endpoints that users write themselves.
 *
 * One readiness change:
 *   1. The pod's status reaches the informer, and `changesEndpoints` (`pod.ts`) decides whether it matters.
 *   2. The keys of the Services that select the pod (`selection.ts`) are enqueued; the queue removes duplicates.
 *   3. `wantedGroups` (`slice-groups.ts`) computes the endpoints that the slices must contain.
 *   4. `planSlices` (`slice-plan.ts`) computes the smallest set of slices to create, update and delete.
 *   5. `SliceWriter` writes them. The next plan waits until the cache shows these writes.
 */
export { endpointsController } from './endpoints-controller.ts';
export { endpointSliceMirroringController } from './mirroring-controller.ts';
export { endpointSliceController } from './slice-controller.ts';
