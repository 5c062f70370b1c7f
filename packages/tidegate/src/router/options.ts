import type { Clock, KubeClient, Logger, Metrics, Random } from '@tidegate/kube';
import type { Driver, Listening } from '../dataplane/driver.ts';
import type { Resolve } from './resolve.ts';

export interface RouterOptions {
  client: KubeClient;
  /** The data plane, not started yet: the router starts and closes it. */
  driver: Driver;
  classNames: readonly string[];
  /** The name of the L7Router that lists the hosts of this router. Without it, the router serves all hosts of the classes. */
  router?: string;
  /** The pool that the router runs in. It uses only endpoints on nodes of this pool. */
  pool?: string;
  /** Identifies this agent among the replicas of the L7Router: the name of its pod. */
  agentName: string;
  stateDirectory: string;
  admin: { host: string; port: number };
  /** How long the router reports that it is not ready before it closes its listeners, so that load balancers notice. */
  noticeMs: number;
  /** How long it waits after that for requests to end. */
  drainMs: number;
  log: Logger;
  metrics: Metrics;
  resolve?: Resolve;
  clock?: Clock;
  random?: Random;
  signal: AbortSignal;
  /** Called when the router listens. At this time it serves the table of its last run, if there is one. */
  onListening?: (ports: Listening & { admin: number }) => void;
}

/** The options of an agent that do not depend on its router. */
export type AgentSettings = Required<Pick<RouterOptions, 'clock' | 'random' | 'resolve'>> &
  Pick<RouterOptions, 'client' | 'pool' | 'agentName' | 'log' | 'metrics'>;
