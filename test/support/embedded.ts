import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer } from '@tidegate/envtest/apiserver';
import { KubeClient, loadConfig, silentLogger, systemClock } from '@tidegate/kube';
import { installDefinitions } from '../../packages/tidegate/src/manager/install.ts';
import { PATIENCE_MS } from './patience.ts';
import { reservePort } from './ports.ts';

export interface Embedded {
  kubeconfig: string;
  url: string;
  /** Its data directory. */
  directory: string;
  /** Writes until the watch history no longer contains earlier events. */
  forget(): Promise<void>;
  /** Stops the server and starts it again at the same address; `between` may change its directory. */
  restart(between?: (directory: string) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/** An embedded API server on a free port, with its own data directory, which is removed with it. */
export async function startEmbedded(): Promise<Embedded> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
  const start = (port: number) => startApiServer({ directory, port, log: silentLogger, version: 'test' });
  let server = await start(await reservePort());
  const kubeconfig = join(directory, 'kubeconfig');
  server.writeAdminKubeconfig(kubeconfig);
  return {
    kubeconfig,
    url: server.url,
    directory,
    async forget() {
      const key = { resource: 'configmaps', namespace: 'default', name: 'busy' };
      const value = Buffer.from(
        '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"busy","namespace":"default"}}',
      );
      const put = () => server.core.store.write(key, () => ({ type: 'put', value }));
      for (let i = 0; i < 21; i++) await Promise.all(Array.from({ length: 1000 }, put));
    },
    async restart(between) {
      const { port } = server;
      await server.close();
      await between?.(directory);
      server = await start(port);
    },
    async stop() {
      await server.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export interface EmbeddedWithKinds extends Embedded {
  /** The administrator's client. */
  client: KubeClient;
}

/** The same, with the CRDs of Tidegate installed. */
export async function startEmbeddedWithKinds(): Promise<EmbeddedWithKinds> {
  const server = await startEmbedded();
  const client = new KubeClient(await loadConfig({ path: server.kubeconfig, env: {} }), {
    deadlineMs: PATIENCE_MS,
  });
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
