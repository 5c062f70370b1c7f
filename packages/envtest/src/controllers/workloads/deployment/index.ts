/**
 * Deployment: replaces the pods of one template with those of the next, a few at a time, and can roll back.
 *
 * One reconcile, after a Deployment or one of its ReplicaSets has changed:
 *   1. `DeploymentReconciler` claims the ReplicaSets; `rollout.ts` finds the one for the current template.
 *   2. `plan` decides the next size of each (`rolling.ts`, `recreate.ts`, `scale.ts`), its revision (`revisions.ts`), and which old ReplicaSets to delete.
 *   3. The reconciler carries out the plan. Every write has a precondition: the ReplicaSet must be as it was read.
 *   4. The status counts the pods, and its conditions describe the progress (`status.ts`, `progress.ts`).
 *
 * A rollout takes many such reconciles. Each decides only the next step from what it sees, so the controller can
 * restart at any time.
 */
import {
  DEPLOYMENTS,
  type Deployment,
  type Informer,
  PODS,
  type Pod,
  REPLICA_SETS,
  type ReplicaSet,
} from '@tidegate/kube';
import type { MakeController } from '../../context.ts';
import { controllerOf, indexByController, keysOfOwners } from '../../pods/index.ts';
import { workloadController } from '../workload-controller.ts';
import { isRolling } from './limits.ts';
import { DeploymentReconciler } from './reconciler.ts';

/** Keys are Deployments. */
export const deploymentController: MakeController = (context) => {
  const deployments = context.informers.for(DEPLOYMENTS);
  const replicaSets = context.informers.for(REPLICA_SETS);
  const pods = context.informers.for(PODS);
  indexByController(replicaSets);
  indexByController(pods);
  const reconciler = new DeploymentReconciler(context, { deployments, replicaSets, pods });
  return workloadController(context, {
    name: 'deployment',
    concurrency: 5,
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
  })
    .watch(deployments)
    .watch(
      replicaSets,
      keysOfOwners(deployments, 'Deployment', ({ spec }) => spec?.selector),
    )
    .watch(pods, recreatedBy(deployments, replicaSets));
};

/** A Deployment with strategy Recreate must see each pod end. For a rolling update, the ReplicaSets are enough. */
const recreatedBy =
  (deployments: Informer<Deployment>, replicaSets: Informer<ReplicaSet>) =>
  (pod: Pod): string[] => {
    const { namespace } = pod.metadata;
    const replicaSet = replicaSets.cache.get(`${namespace}/${controllerOf(pod)?.name}`);
    const owner = replicaSet === undefined ? undefined : controllerOf(replicaSet);
    const key = `${namespace}/${owner?.name}`;
    const deployment = deployments.cache.get(key);
    return deployment === undefined || isRolling(deployment) ? [] : [key];
  };
