import type { Clock, EventRecorder, Informers, KubeClient, Logger, Metrics } from '../kube/index.ts';

/** What the controllers of this folder are given. */
export interface IngressContext {
  client: KubeClient;
  informers: Informers;
  recorder: EventRecorder;
  metrics: Metrics;
  log: Logger;
  clock: Clock;
  /** Of routers for which nobody names another. */
  routerImage: string;
}
