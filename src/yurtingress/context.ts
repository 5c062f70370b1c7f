import type { Clock, EventRecorder, Informers, KubeClient, Logger, Metrics } from '../kube/index.ts';
import type { Membership } from '../pools/index.ts';

/** What the controllers of this folder are given. */
export interface YurtIngressContext {
  client: KubeClient;
  informers: Informers;
  /** Follows the same informers. */
  membership: Membership;
  recorder: EventRecorder;
  metrics: Metrics;
  log: Logger;
  clock: Clock;
  /** Of routers for which nobody names another. */
  routerImage: string;
}
