/**
 * Deployment: replaces the pods of one template by those of the next, a few at a time, and can go back.
 *
 *   a Deployment or one of its ReplicaSets changes
 *   -> claim the ReplicaSets; find the one of the present template (`rollout.ts`)
 *   -> `plan`: the next size of each (`rolling.ts`, `recreate.ts`, `scale.ts`), its revision, what history drops
 *   -> carry it out (`Reconciler`), each write only if the ReplicaSet is still as it was seen
 *   -> count into the status, with conditions that say how far it got (`status.ts`, `progress.ts`)
 */
import {
  Controller,
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
import { RETRIES } from '../../retries.ts';
import { untilCacheCatchesUp } from '../../stale-reads.ts';
import { isRolling } from './limits.ts';
import { DeploymentReconciler } from './reconciler.ts';

export const deploymentController: MakeController = (context) => {
  const deployments = context.informers.for(DEPLOYMENTS);
  const replicaSets = context.informers.for(REPLICA_SETS);
  const pods = context.informers.for(PODS);
  indexByController(replicaSets);
  indexByController(pods);
  const reconciler = new DeploymentReconciler(context, { deployments, replicaSets, pods });
  return new Controller({
    name: 'deployment',
    concurrency: 5,
    clock: context.clock,
    metrics: context.metrics,
    log: context.log,
    queue: RETRIES,
    reconcile: untilCacheCatchesUp((key, signal) => reconciler.reconcile(key, signal)),
  })
    .watch(deployments)
    .watch(
      replicaSets,
      keysOfOwners(deployments, 'Deployment', ({ spec }) => spec?.selector),
    )
    .watch(pods, recreatedBy(deployments, replicaSets));
};

/** Only a Deployment that waits for its old pods to end has to know of single pods; for others ReplicaSets count. */
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
