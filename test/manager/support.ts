import { setTimeout as sleep } from 'node:timers/promises';
import { type KubeClient, Metrics, type Resource, silentLogger } from '@tidegate/kube';
import { type ManagerOptions, runManager } from '../../packages/tidegate/src/manager/index.ts';

export const VALIDATING_CONFIGURATIONS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};

export interface Manager {
  healthPort: number;
  /** Resolves when everything has ended; rejects with what ended it. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

/** A manager in this process, once it is ready. */
export async function startManager(
  client: KubeClient,
  options: Partial<ManagerOptions> = {},
): Promise<Manager> {
  const stop = new AbortController();
  let ended: Promise<void> = Promise.resolve();
  const healthPort = await new Promise<number>((ready, failed) => {
    ended = runManager({
      client,
      identity: 'm1',
      webhook: { host: '127.0.0.1', port: 0 },
      health: { host: '127.0.0.1', port: 0 },
      hubAddresses: ['169.254.2.1'],
      routerImage: 'tidegate',
      leaderElection: false,
      installDefinitions: true,
      log: silentLogger,
      metrics: new Metrics(),
      signal: stop.signal,
      onReady: ({ healthPort }) => ready(healthPort),
      ...options,
    });
    ended.catch(failed);
  });
  return {
    healthPort,
    ended,
    stop: () => {
      stop.abort();
      return ended;
    },
  };
}

/** Looks again until `look` gives something, for as long as the test may take. */
export async function eventually<T>(look: () => Promise<T | undefined | false>): Promise<T> {
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    await sleep(10);
  }
}
