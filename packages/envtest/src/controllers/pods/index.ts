/**
 * What all controllers that own pods have in common: creating pods from a template, finding out which pods they own,
 * and never acting on a cache that does not show their own last writes. One reconcile uses it in this order:
 *
 *   indexByController(pods)                            once, on the shared informers
 *   controller.watch(pods, keysOfOwners(owners, 'ReplicaSet', (rs) => rs.spec?.selector))
 *
 *   claimable(pods.cache, owner)                       the pods it controls, and orphans in its namespace
 *   claimPods({ client, owner, ownerResource, selector, candidates, signal })   adopts, releases, returns its own
 *   podControl.expectations.waitMs(owner)              > 0: the cache is behind; change no pods, requeue after that
 *   podControl.createPods(owner, count, (i) => podFromTemplate(owner, template, extra), signal)
 *   podControl.deletePods(owner, deletionOrder(pods, now, related).slice(0, n), signal)
 *
 * `podControl.create` and `podControl.delete` do the same for one pod. The state of a pod: `isReady(pod)`,
 * `isActive(pod)`, `isTerminating(pod)`, `isAvailable(pod, minReadySeconds, now)`, and `nextAvailableInMs(pods,
 * minReadySeconds, now)` for the requeue. `claim` adopts objects other than pods.
 */
export { claim, claimPods } from './claim.ts';
export { deletionOrder } from './deletion-order.ts';
export { Expectations } from './expectations.ts';
export {
  claimable,
  controlledBy,
  controllerOf,
  controllerReference,
  indexByController,
  indexByNamespace,
  inNamespace,
  isControlledBy,
  keysOfOwners,
  siblingsOf,
} from './owners.ts';
export { PodControl, type PodControlOptions } from './pod-control.ts';
export {
  isActive,
  isAvailable,
  isReady,
  isTerminating,
  nextAvailableInMs,
} from './state.ts';
export { podFromTemplate } from './template.ts';
