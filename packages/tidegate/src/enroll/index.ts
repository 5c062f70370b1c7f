/**
 * The hub on a node: `tidegate hub install` puts it between the programs of the node and the API server, and `tidegate hub
 * uninstall` gives them back.
 *
 * One installation:
 *   1. `planEnrollment` (plan.ts) reads the kubeconfig of the kubelet, or makes one from a token, and refuses what would make
 *      the hub its own API server (own-upstream.ts), or the name of another node (node-name.ts).
 *   2. `enroll` (enroll.ts) writes the files of the hub (files.ts, service.ts), starts it and waits until it answers. Until
 *      then, nothing that the kubelet uses has changed.
 *   3. It records what it is about to change (record.ts), and points the kubeconfig files of the kubelet and kube-proxy to the
 *      hub (kubeconfig-server.ts).
 *   4. It restarts the kubelet and waits for its next heartbeat. If there is none, everything is given back.
 *
 * `withdraw` (withdraw.ts) sets the API server again in the files as they are now, because the kubelet may have renewed its
 * certificate meanwhile.
 */
export { enroll } from './enroll.ts';
export { type Layout, layoutIn } from './files.ts';
export { ownUpstream } from './own-upstream.ts';
export { planEnrollment } from './plan.ts';
export { requireRoot } from './root.ts';
export { withdraw } from './withdraw.ts';
