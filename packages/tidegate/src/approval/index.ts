/**
 * Approval of serving certificates. kube-controller-manager signs requests for `kubernetes.io/kubelet-serving` but never
 * approves them, because it cannot know which names belong to a node. This folder does.
 *
 * When a hub starts on a node:
 *   1. The hub sends a CertificateSigningRequest, with the credentials of its node, for its own addresses and the names
 *      of the API server.
 *   2. The controller passes the request to `decide`, which compares it with the name of the node, the Service
 *      `default/kubernetes`, the addresses that all hubs have, and the addresses that an administrator has configured for
 *      the pool of the node (vouching.ts). What the node writes to the status of its Node does not count.
 *   3. The controller approves the request. If a name is not allowed, it leaves the request pending and reports the
 *      reason in an event.
 *
 * A node can therefore get a certificate for the names of the API server. The hub needs it to serve pods in place of the
 * API server, and pods have to trust their node in any case. A node cannot get a certificate for the names or addresses
 * of another node.
 */
export { approve } from './approve.ts';
export { approvalController, clusterAddressesOf } from './controller.ts';
export { decide, KUBELET_SERVING, KUBERNETES_NAMES, LOOPBACK_NAMES, type ServingNames } from './decide.ts';
