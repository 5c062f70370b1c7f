import type {
  Clock,
  Controller,
  EventRecorder,
  Informers,
  KubeClient,
  Logger,
  Metrics,
} from '@tidegate/kube';

/** What every controller receives. */
export interface ControllerContext {
  client: KubeClient;
  /** Shared: all controllers that watch a resource use the same cache. */
  informers: Informers;
  /** An event recorder for a component, for example `deployment-controller`. */
  recorderFor(component: string): EventRecorder;
  metrics: Metrics;
  log: Logger;
  clock: Clock;
}

/**
 * Makes a controller whose watches are attached, but which is not running yet. It reads the caches of `informers`
 * and writes with `client`. It is level-triggered: it must not depend on having seen a particular event.
 */
export type MakeController = (context: ControllerContext) => Controller;
