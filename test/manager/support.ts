import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type KubeClient,
  type KubeObject,
  Metrics,
  type Resource,
  SERVICE_ACCOUNTS,
  silentLogger,
} from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';
import { METRICS_PREFIX } from '../../packages/tidegate/src/api/index.ts';
import { type ManagerOptions, runManager } from '../../packages/tidegate/src/manager/index.ts';

export const VALIDATING_CONFIGURATIONS: Resource = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  resource: 'validatingwebhookconfigurations',
  namespaced: false,
};

export const DEPLOY = join(import.meta.dirname, '../../deploy');

export interface Manager {
  healthPort: number;
  /** Resolves when the manager has stopped. Rejects with the error that stopped it. */
  ended: Promise<void>;
  stop(): Promise<void>;
}

/** Starts a manager in this process and waits until it is ready. */
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
      metrics: new Metrics({ prefix: METRICS_PREFIX }),
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

/** The webhook configurations of deploy/, and what is with them, with this URL in place of the Service. */
export async function webhookObjects(url: string, file = 'base/webhooks.yaml'): Promise<KubeObject[]> {
  const text = await readFile(join(DEPLOY, file), 'utf8');
  return parseAllDocuments(text).map((document) => {
    const object = document.toJS() as KubeObject & { webhooks?: { clientConfig: ClientConfig }[] };
    for (const { clientConfig } of object.webhooks ?? []) {
      clientConfig.url = `${url}${clientConfig.service?.path}`;
      delete clientConfig.service;
    }
    return object;
  });
}

interface ClientConfig {
  url?: string;
  service?: { path: string };
}

/** A token of a ServiceAccount in tidegate-system, in a header. */
export async function authorizationOf(admin: KubeClient, name: string): Promise<string> {
  const request = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: { name, namespace: 'tidegate-system' },
    spec: {},
  };
  const { status } = await admin.create<KubeObject>(SERVICE_ACCOUNTS, request, { subresource: 'token' });
  return `Bearer ${(status as { token: string }).token}`;
}
