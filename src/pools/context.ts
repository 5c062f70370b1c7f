import type { Clock, EventRecorder, Informers, KubeClient, Logger, Metrics } from '../kube/index.ts';
import type { Membership } from './membership.ts';

/** What the controllers of this folder are given. */
export interface PoolsContext {
  client: KubeClient;
  informers: Informers;
  /** Follows the same informers: see followMembership. */
  membership: Membership;
  recorder: EventRecorder;
  metrics: Metrics;
  log: Logger;
  clock: Clock;
}
