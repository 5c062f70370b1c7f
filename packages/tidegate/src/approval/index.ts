/**
 * Approval of serving certificates. Kubernetes signs what somebody has approved, and leaves the approval of
 * `kubernetes.io/kubelet-serving` to whoever knows which names belong to which node: that is this folder.
 *
 * A hub starts on a node:
 *   it asks, as its node, for a certificate with its own addresses and the names of the API server
 *   -> the controller sees the CertificateSigningRequest and has `judge` compare it with the Node, the Service
 *      `default/kubernetes` and the addresses that all hubs have
 *   -> it approves, or leaves the request alone and says in an event what is wrong with it.
 *
 * A node may so get a certificate for the names of the API server. It needs that to stand in for it, and its pods trust
 * their node anyhow; names and addresses of other nodes it does not get.
 */
export { approve } from './approve.ts';
export { approvalController, clusterAddressesOf } from './controller.ts';
export { judge, KUBELET_SERVING, KUBERNETES_NAMES, LOOPBACK_NAMES, type ServingNames } from './judge.ts';
