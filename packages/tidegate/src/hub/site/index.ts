/**
 * The site: endpoints follow what kubelets report while the API server cannot.
 *
 * A node loses power while its site is cut off, and its pods start again with new addresses:
 *
 *   1. requests/        The kubelet writes the status of a pod. The write goes to the journal, and to
 *   2. own-pods.ts      `OwnPods`, which keeps what the kubelet has reported (pod-report.ts).
 *   3. site.ts          `Site` notifies the projections: objects that name the pod may look different.
 *   4. projections/     They filter these EndpointSlices and Endpoints again, and call `Site` before the filters, which calls
 *   5. derive.ts        pure functions: the object as the API server sent it, with the reports.
 *   6. answers/         kube-proxy, routers and DNS servers of the node get the difference as an event.
 *
 * The link returns: hand-back.ts decides how long the reports still count. The API server receives the journal, its
 * controllers update the endpoints, and the updates arrive here. Then nothing differs, and clients get no event.
 */
export { type OpenedSite, type OtherNodes, openSite } from './open.ts';
export type { OwnPods } from './own-pods.ts';
export type { PodReport } from './pod-report.ts';
export type { NodeReports } from './site.ts';
