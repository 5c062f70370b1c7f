import type { Clock, EventRecorder, Informers, KubeClient, Logger, Metrics } from '../../kube/index.ts';

/** What the controller of this folder is given. */
export interface AppsContext {
  client: KubeClient;
  informers: Informers;
  recorder: EventRecorder;
  metrics: Metrics;
  log: Logger;
  clock: Clock;
}
