/**
 * ReplicaSet and ReplicationController: keep `spec.replicas` pods of one template.
 *
 * One reconcile, after a pod or its owner has changed: claim the pods -> create or delete the difference, unless the cache
 * does not show this controller's last writes yet -> count the pods in the status (`status.ts`).
 */
import { type Controller, PODS, REPLICA_SETS, REPLICATION_CONTROLLERS } from '@tidegate/kube';
import type { ControllerContext, MakeController } from '../../context.ts';
import { indexByController, keysOfOwners } from '../../pods/index.ts';
import { workloadController } from '../workload-controller.ts';
import { type ReplicasKind, ReplicasReconciler } from './reconciler.ts';
import type { Replicas } from './status.ts';

export const replicaSetController: MakeController = (context) =>
  controllerOf(context, {
    resource: REPLICA_SETS,
    kind: 'ReplicaSet',
    component: 'replicaset-controller',
    selectorOf: ({ spec }) => spec?.selector,
    countsTerminating: true,
  });

export const replicationController: MakeController = (context) =>
  controllerOf(context, {
    resource: REPLICATION_CONTROLLERS,
    kind: 'ReplicationController',
    component: 'replication-controller',
    selectorOf: ({ spec }) => ({ matchLabels: spec?.selector ?? {} }),
    countsTerminating: false,
  });

function controllerOf<T extends Replicas>(context: ControllerContext, kind: ReplicasKind<T>): Controller {
  const owners = context.informers.for(kind.resource);
  const pods = context.informers.for(PODS);
  indexByController(pods);
  indexByController(owners);
  const reconciler = new ReplicasReconciler(context, kind, owners, pods);
  return workloadController(context, {
    name: kind.kind.toLowerCase(),
    concurrency: 5,
    reconcile: (key, signal) => reconciler.reconcile(key, signal),
  })
    .watch(owners)
    .watch(pods, keysOfOwners(owners, kind.kind, kind.selectorOf));
}
