import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeClient, loadConfig, silentLogger, systemClock } from '../../src/kube/index.ts';
import { startApiServer } from '../../src/local/apiserver/index.ts';
import { installDefinitions } from '../../src/manager/install.ts';

export interface Embedded {
  kubeconfig: string;
  url: string;
  stop(): Promise<void>;
}

/** An embedded API server on a free port, with a data directory of its own that goes away with it. */
export async function startEmbedded(): Promise<Embedded> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
  const server = await startApiServer({ directory, port: 0, logger: silentLogger, version: 'test' });
  const kubeconfig = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(kubeconfig);
  return {
    kubeconfig,
    url: server.url,
    stop: async () => {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export interface EmbeddedWithKinds extends Embedded {
  /** The administrator's. */
  client: KubeClient;
}

/** The same, with Tidegate's own kinds installed. */
export async function startEmbeddedWithKinds(): Promise<EmbeddedWithKinds> {
  const server = await startEmbedded();
  const client = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }));
  await installDefinitions(client, systemClock, new AbortController().signal);
  return {
    ...server,
    client,
    stop: async () => {
      await client.close();
      await server.stop();
    },
  };
}
