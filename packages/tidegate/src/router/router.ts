import { setMaxListeners } from 'node:events';
import { lockDirectory, makeChosenDirectory } from '@tidegate/disk';
import { aborted, sleep, systemClock } from '@tidegate/kube';
import { HealthServer } from '@tidegate/serving';
import { Agent } from './agent.ts';
import type { RouterOptions } from './options.ts';
import { resolveByDns } from './resolve.ts';
import { Snapshot } from './snapshot.ts';

/**
 * Runs a router until the signal is aborted and all requests have ended.
 *
 * Start: lock the state directory -> start the data plane with the table of the last run -> open the admin port -> sync the
 * informers -> apply the current routes. Stop: the reverse.
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
        signal.aborted ? ['the router is shutting down'] : [...driver.health().reasons, ...agent.reasons()],
      warnings: () => [...snapshot.warnings(), ...(driver.health().warnings ?? [])],
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

/** Keeps routes current until the last request has ended, because endpoints may change while the router drains. */
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
