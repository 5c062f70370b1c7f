import type {
  Clock,
  Controller,
  EventRecorder,
  Informers,
  KubeClient,
  Logger,
  Metrics,
} from '@tidegate/kube';

/** What every controller of the cluster is given. */
export interface ControllerContext {
  client: KubeClient;
  /** Shared: whoever asks for the same resource gets the same cache. */
  informers: Informers;
  /** A recorder that reports as this component, such as `deployment-controller`. */
  recorderFor(component: string): EventRecorder;
  metrics: Metrics;
  log: Logger;
  clock: Clock;
}

/**
 * Makes one controller, its watches attached and not yet running. It reads the caches of `informers`, writes by
 * `client`, and may not depend on having seen a particular event.
 */
export type MakeController = (context: ControllerContext) => Controller;
