import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CONFIG_MAPS, KubeClient, type KubeObject, loadConfig, silentLogger } from '@tidegate/kube';
import { PATIENCE_MS } from '../../../../../test/support/patience.ts';
import { startApiServer } from '../../apiserver/index.ts';
import type { PodPlace } from '../contracts.ts';

/** An embedded API server, clients of it, and a directory; `stop` removes all of it. */
export interface TestCluster {
  directory: string;
  server: Awaited<ReturnType<typeof startApiServer>>;
  admin: KubeClient;
  /** A client with exactly the permissions of that node's kubelet. */
  node(name: string): Promise<KubeClient>;
  placeOf(uid: string): PodPlace;
  stop(): Promise<void>;
}

/** `serviceCIDR` is the range of ClusterIPs. */
export async function startTestCluster(serviceCIDR?: string): Promise<TestCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-node-'));
  const server = await startApiServer({
    directory: join(directory, 'apiserver'),
    port: 0,
    ...(serviceCIDR === undefined ? {} : { serviceCIDR }),
    log: silentLogger,
    version: 'test',
  });
  const kubeconfig = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(kubeconfig);
  const config = await loadConfig({ path: kubeconfig, env: {} });
  const clients: KubeClient[] = [];
  const open = (client: KubeClient): KubeClient => {
    clients.push(client);
    return client;
  };
  const admin = open(new KubeClient(config, { deadlineMs: PATIENCE_MS }));
  // The controllers would create it; pods need it to mount their service account.
  const authority = { data: { 'ca.crt': config.ca ?? '' } };
  await admin.create(CONFIG_MAPS, named('ConfigMap', 'kube-root-ca.crt', authority));
  return {
    directory,
    server,
    admin,
    node: async (name) => {
      const impersonate = { user: `system:node:${name}`, groups: ['system:nodes', 'system:authenticated'] };
      return open(new KubeClient({ ...config, impersonate }));
    },
    placeOf: (uid) => placeIn(join(directory, 'pods', uid)),
    stop: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** An object of the core group in the namespace `default`. */
export const named = <T extends object>(kind: string, name: string, fields?: T): KubeObject & T => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, namespace: 'default' },
  ...(fields ?? ({} as T)),
});

function placeIn(directory: string): PodPlace {
  return {
    directory,
    container: (name) => {
      const own = join(directory, 'containers', name);
      return {
        podDirectory: directory,
        directory: own,
        root: join(own, 'root'),
        logDirectory: join(own, 'logs'),
      };
    },
  };
}
