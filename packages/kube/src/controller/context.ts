import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { KubeClient } from '../client/client.ts';
import type { EventRecorder } from '../events/recorder.ts';
import type { Informers } from '../informer/informers.ts';

/** What all controllers of a program share. */
export interface ControllerContext {
  client: KubeClient;
  informers: Informers;
  recorder: EventRecorder;
  metrics: Metrics;
  log: Logger;
  clock: Clock;
}
