/**
 * The scheduler assigns a node to every pod. One pod:
 *   1. A pod without a node is enqueued.
 *   2. `decide` (pure) filters the nodes of `Cluster` (`filters.ts`, `topology-spread.ts`, `pod-affinity.ts`) and chooses the
 *      best one (`scores.ts`).
 *   3. The pod is placed on that node in `Cluster` immediately, and then the binding is written. The next decision thus
 *      takes it into account, although the cache does not show it yet. kube-scheduler calls this "assume".
 *   4. When no node fits, the PodScheduled condition gives the reasons (`rejection.ts`), and the pod waits.
 *   5. When something changes that may help, all waiting pods are tried again.
 * The cost of a decision depends on the number of nodes; a heartbeat costs nothing.
 */
export { schedulerController } from './scheduler.ts';
