import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, systemClock } from '../base/clock.ts';
import { type ClusterConfig, ConfigError } from './cluster.ts';
import { FileCredentials } from './file-credentials.ts';

const SERVICE_ACCOUNT_DIR = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Options of {@link inClusterConfig}. */
export interface InClusterOptions {
  env: NodeJS.ProcessEnv;
  /** Where the service account is mounted. */
  directory?: string;
  clock?: Clock;
}

/** Whether the kubelet has set the variables that every container gets. */
export const isInCluster = (env: NodeJS.ProcessEnv): boolean =>
  (env.KUBERNETES_SERVICE_HOST ?? '') !== '' && (env.KUBERNETES_SERVICE_PORT ?? '') !== '';

/**
 * The configuration of a program that runs in a pod: its service account, whose token the kubelet replaces before it
 * expires.
 */
export async function inClusterConfig({
  env,
  directory = SERVICE_ACCOUNT_DIR,
  clock = systemClock,
}: InClusterOptions): Promise<ClusterConfig> {
  if (!isInCluster(env)) {
    throw new ConfigError(
      'not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; give a kubeconfig instead',
    );
  }
  const host = env.KUBERNETES_SERVICE_HOST!;
  const credentials = new FileCredentials({ tokenFile: join(directory, 'token') }, {}, clock);
  await credentials.current();
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${env.KUBERNETES_SERVICE_PORT}`,
    ca: await readMounted(join(directory, 'ca.crt')),
    namespace: (await readMounted(join(directory, 'namespace'))).trim(),
    credentials,
  };
}

async function readMounted(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ConfigError(
      `${path}: ${(error as Error).message}; is automountServiceAccountToken false for this pod?`,
      { cause: error },
    );
  }
}
