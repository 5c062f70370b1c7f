import { KubeClient, type KubeObject, loadConfig, SERVICE_ACCOUNTS, systemClock } from '@tidegate/kube';
import { installDefinitions } from '../../packages/tidegate/src/manager/install.ts';
import { nodeCredentials } from '../../packages/tidegate/src/supervisor/credentials.ts';
import { installRbac } from '../../packages/tidegate/src/supervisor/install.ts';
import { type RunningServer, startTidegate } from '../apiserver/servers.ts';
import { allowReading, createPool, NODE } from './objects.ts';

const ACCOUNT = { name: 'bench', namespace: 'default' };

/** An API server in its own process, with everything that a hub and its clients need. */
export interface Cluster {
  directory: string;
  server: RunningServer;
  admin: KubeClient;
  /** The kubeconfig of the hub, with the certificate of its node. */
  kubeconfig: string;
  /** The token of a service account that may read what is measured. */
  token: string;
  stop(): Promise<void>;
}

export async function startCluster(directory: string): Promise<Cluster> {
  const server = await startTidegate(directory);
  const admin = new KubeClient(await loadConfig({ env: {}, path: server.kubeconfig }));
  const { signal } = new AbortController();
  await installDefinitions(admin, systemClock, signal);
  await installRbac(admin, new URL('../../deploy/base/hub.yaml', import.meta.url).pathname, signal);
  await createPool(admin);
  const { hub: kubeconfig } = await nodeCredentials({
    client: admin,
    node: NODE,
    directory,
    server: server.url,
    hub: server.url,
    proxyTokenFile: '',
    signal,
  });
  const stop = async (): Promise<void> => {
    await admin.close();
    await server.stop();
  };
  return { directory, server, admin, kubeconfig, token: await readersToken(admin), stop };
}

async function readersToken(admin: KubeClient): Promise<string> {
  await admin.create(SERVICE_ACCOUNTS, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: ACCOUNT });
  await allowReading(admin, ACCOUNT);
  const request: KubeObject = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: ACCOUNT,
    spec: { expirationSeconds: 3600 },
  };
  const { status } = await admin.create(SERVICE_ACCOUNTS, request, { subresource: 'token' });
  return (status as { token: string }).token;
}
