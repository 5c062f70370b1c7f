/**
 * The parts of kube-controller-manager and kube-scheduler that the embedded cluster needs. Each controller has its
 * own folder and does not depend on the others; they share only the informer caches and the objects in the API.
 *
 * The folders: `workloads` (Deployment, ReplicaSet,
 * ReplicationController, StatefulSet, DaemonSet, Job, CronJob), `pods` (what all of these
 * have in common), `scheduler`, `endpoints`, `nodes`, `disruption`, `autoscaling`, `volumes`,
 * `serviceaccounts`, `rbac`. Four files help to
 * work with a cache that lags behind: `own-writes.ts`, `stale-reads.ts`, `retries.ts` and `pods/expectations.ts`.
 *
 * One Deployment:
 *   1. `workloads/deployment` creates a ReplicaSet, and `workloads/replicaset` creates its pods.
 *   2. `scheduler` binds each pod to a node, where the node's agent runs it and reports that it is ready.
 *   3. `endpoints` adds its address to the EndpointSlices of the Services that select it.
 *   4. When the node fails, `nodes` taints it and evicts the pod, and `workloads/replicaset` creates a replacement.
 *
 * All state is in the API server, so every part, including the API server itself, can restart at any time.
 */
import { setMaxListeners } from 'node:events';
import {
  type Clock,
  childController,
  EventRecorder,
  Informers,
  type KubeClient,
  type KubeObject,
  type Logger,
  type Metrics,
  systemClock,
} from '@tidegate/kube';
import { autoscalingController } from './autoscaling/index.ts';
import type { MakeController } from './context.ts';
import { disruptionController } from './disruption/index.ts';
import {
  endpointSliceController,
  endpointSliceMirroringController,
  endpointsController,
} from './endpoints/index.ts';
import { type NodeOptions, nodeControllers } from './nodes/index.ts';
import { clusterRoleAggregationController } from './rbac/cluster-role-aggregation.ts';
import { schedulerController } from './scheduler/index.ts';
import { rootCaController, serviceAccountController } from './serviceaccounts/index.ts';
import { claimController, storageClassController, volumeController } from './volumes/index.ts';
import { cronJobController } from './workloads/cronjob/index.ts';
import { daemonSetController } from './workloads/daemonset/index.ts';
import { deploymentController } from './workloads/deployment/index.ts';
import { jobController } from './workloads/job/index.ts';
import { replicaSetController, replicationController } from './workloads/replicaset/index.ts';
import { statefulSetController } from './workloads/statefulset/index.ts';

/** Options of {@link runControllers}. */
export interface ControllersOptions extends NodeOptions {
  client: KubeClient;
  log: Logger;
  metrics: Metrics;
  clock?: Clock;
  signal: AbortSignal;
  /** Called once, when all caches are synced and the controllers begin to work. */
  onSynced?: () => void;
}

const controllersOf = (options: NodeOptions): MakeController[] => [
  serviceAccountController,
  rootCaController,
  clusterRoleAggregationController,
  ...nodeControllers(options),
  schedulerController,
  deploymentController,
  replicaSetController,
  replicationController,
  daemonSetController,
  statefulSetController,
  jobController,
  cronJobController,
  autoscalingController,
  storageClassController,
  claimController,
  volumeController,
  disruptionController,
  endpointSliceController,
  endpointsController,
  endpointSliceMirroringController,
];

/**
 * Runs all controllers, including the scheduler, until the signal is aborted and the reconciles in progress have
 * finished. They work with any API server, not only with the embedded one. The garbage collector and namespace
 * deletion are not among them, because the embedded API server contains them.
 *
 * @example
 * ```ts
 * await runControllers({
 *   client,
 *   log,
 *   metrics: new Metrics(),
 *   clusterCidr: '10.244.0.0/16',
 *   nodeGraceMs: 40_000,
 *   signal,
 *   onSynced: () => log.info({}, 'controllers are running'),
 * });
 * ```
 */
export async function runControllers(options: ControllersOptions): Promise<void> {
  const { client, log, metrics, clock = systemClock, onSynced } = options;
  const informers = new Informers(client, { transform: withoutManagedFields, clock, log });
  const recorders: EventRecorder[] = [];
  const recorderFor = (component: string): EventRecorder => {
    const recorder = new EventRecorder(client, { component, clock, log });
    recorders.push(recorder);
    return recorder;
  };
  const context = { client, informers, recorderFor, metrics, log, clock };
  const controllers = controllersOf(options).map((make) => make(context));
  const { controller: stop, release } = childController(options.signal);
  // Every controller and every informer adds a listener.
  setMaxListeners(0, stop.signal);
  try {
    const parts = [informers, ...controllers];
    const running = Promise.all(parts.map((part) => part.run(stop.signal)));
    await Promise.race([running, informers.synced().then(onSynced)]);
    await running;
  } finally {
    // When one part fails, stop the others too. The supervisor restarts the whole process.
    stop.abort();
    release();
    await Promise.all(recorders.map((recorder) => recorder.close()));
  }
}

/** Drops managedFields from the caches: no controller here reads them, and they can be half of an object's size. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
