import { setMaxListeners } from 'node:events';
import { lockDirectory, makeChosenDirectory } from '@tidegate/disk';
import {
  aborted,
  type Clock,
  type KubeClient,
  type Logger,
  type Metrics,
  type Random,
  sleep,
  systemClock,
} from '@tidegate/kube';
import { HealthServer } from '@tidegate/serving';
import type { Driver, Listening } from '../dataplane/driver.ts';
import { Agent } from './agent.ts';
import { type Resolve, resolveByDns } from './resolve.ts';
import { Snapshot } from './snapshot.ts';

export interface RouterOptions {
  client: KubeClient;
  /** Not started yet: the router starts and closes it. */
  driver: Driver;
  classNames: readonly string[];
  /** The L7Router that says which hosts are ours; without it, all of the classes. */
  router?: string;
  /** Only endpoints on nodes of this pool are used. */
  pool?: string;
  /** Ours among all who run for the same L7Router: the name of the pod. */
  agentName: string;
  stateDirectory: string;
  admin: { host: string; port: number };
  /** How long those who send traffic have to notice that it is about to stop, before it takes no more. */
  noticeMs: number;
  /** How long requests may take to end then. */
  drainMs: number;
  log: Logger;
  metrics: Metrics;
  resolve?: Resolve;
  clock?: Clock;
  random?: Random;
  signal: AbortSignal;
  /** Called when it listens; what it serves then is what it served last. */
  onListening?: (ports: Listening & { admin: number }) => void;
}

/**
 * Runs until the signal is aborted and all requests have ended.
 * A start: state -> driver, with what was served last -> admin port -> caches -> current routes. A stop the same way back.
 */
export async function runRouter(options: RouterOptions): Promise<void> {
  const { stateDirectory: directory, classNames, router, pool, clock = systemClock, log } = options;
  makeChosenDirectory(directory, '--state');
  const unlock = await lockDirectory(directory);
  try {
    const snapshot = await Snapshot.open({ directory, owner: { classNames, router, pool }, clock, log });
    try {
      await serve(options, snapshot);
    } finally {
      await snapshot.close();
    }
  } finally {
    await unlock();
  }
}

async function serve(options: RouterOptions, snapshot: Snapshot): Promise<void> {
  const { driver, metrics, signal, log } = options;
  const { clock = systemClock, random = Math.random, resolve = resolveByDns } = options;
  const agent = new Agent({ ...options, clock, random, resolve, snapshot });
  const listening = await agent.listen();
  try {
    const admin = await HealthServer.listen({
      ...options.admin,
      reasons: () =>
        signal.aborted ? ['it is about to stop'] : [...driver.health().reasons, ...agent.reasons()],
      metrics: async () => `${await metrics.scrape()}${driver.health().ready ? await driver.metrics() : ''}`,
      log,
    });
    try {
      options.onListening?.({ ...listening, admin: admin.port });
      await follow(agent, options);
    } finally {
      await admin.close();
    }
  } finally {
    await driver.close();
  }
}

/** Endpoints may change while the last requests end: routes are kept current until then. */
async function follow(agent: Agent, options: RouterOptions): Promise<void> {
  const { driver, noticeMs, drainMs, signal, clock = systemClock } = options;
  const caches = new AbortController();
  setMaxListeners(0, caches.signal);
  const running = agent.run(caches.signal);
  try {
    await Promise.race([running, aborted(signal)]);
    await sleep(clock, noticeMs);
    await driver.drain(drainMs);
  } finally {
    caches.abort();
    await running;
  }
}
