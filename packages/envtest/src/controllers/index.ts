/**
 * Just enough of kube-controller-manager and kube-scheduler. Each controller is a folder of its own and knows nothing
 * of the others; what they share are the caches, and the objects that they write. One Deployment through them:
 *   workloads/deployment makes a ReplicaSet -> workloads/replicaset makes Pods
 *   -> scheduler gives each a node, where the node's agent runs it and reports that it is ready
 *   -> endpoints puts its address into the EndpointSlices of the Services that select it
 *   -> nodes notices when the node is lost; the pod is deleted, and replicaset makes another.
 * Everything goes through the API server, so that a restart of any part, also of that, goes on where it was.
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
import type { MakeController } from './context.ts';
import { disruptionController } from './disruption/index.ts';
import {
  endpointSliceController,
  endpointSliceMirroringController,
  endpointsController,
} from './endpoints/index.ts';
import { type NodeOptions, nodeControllers } from './nodes/index.ts';
import { clusterRoleAggregationController } from './rbac/cluster-role-aggregation.ts';
import { schedulerController } from './scheduler/scheduler.ts';
import { rootCaController, serviceAccountController } from './serviceaccounts/index.ts';
import { cronJobController } from './workloads/cronjob/index.ts';
import { daemonSetController } from './workloads/daemonset/index.ts';
import { deploymentController } from './workloads/deployment/index.ts';
import { jobController } from './workloads/job/index.ts';
import { replicaSetController } from './workloads/replicaset/index.ts';
import { statefulSetController } from './workloads/statefulset/index.ts';

export interface ControllersOptions extends NodeOptions {
  client: KubeClient;
  log: Logger;
  metrics: Metrics;
  clock?: Clock;
  signal: AbortSignal;
  /** Called once, when all caches are filled and the work begins. */
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
  daemonSetController,
  statefulSetController,
  jobController,
  cronJobController,
  disruptionController,
  endpointSliceController,
  endpointsController,
  endpointSliceMirroringController,
];

/** Runs all controllers of the cluster until the signal is aborted and what was begun has ended. */
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
  // Every controller and every cache listens to it.
  setMaxListeners(0, stop.signal);
  try {
    const parts = [informers, ...controllers];
    const running = Promise.all(parts.map((part) => part.run(stop.signal)));
    await Promise.race([running, informers.synced().then(onSynced)]);
    await running;
  } finally {
    // When one part fails, the others end too, and whoever started us starts all of them again.
    stop.abort();
    release();
    await Promise.all(recorders.map((recorder) => recorder.close()));
  }
}

/** Nobody here reads them, and they are half of an object. */
function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
