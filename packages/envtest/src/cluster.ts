import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type ClusterConfig,
  type Impersonation,
  KubeClient,
  type KubeObject,
  type Logger,
  loadConfig,
  Metrics,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import { KUBERNETES_VERSION, startApiServer } from './apiserver/index.ts';
import { applyManifests } from './manifests.ts';

/** What {@link startCluster} starts, and where it keeps its data. Every field is optional. */
export interface ClusterOptions {
  /**
   * Data directory. Without it, the cluster uses a temporary directory and deletes it on `stop`. A directory that you
   * pass is kept, so a second cluster started with it continues with the same objects, keys and certificates.
   */
  directory?: string;
  /** Port of the API server on 127.0.0.1; 0, the default, selects a free port. */
  port?: number;
  /** Run the controllers and the scheduler. Default: false, so that only the test changes objects. */
  controllers?: boolean;
  /**
   * Number of hollow nodes, named `node-1` to `node-<n>`. They run no containers; they report every pod that is bound
   * to them as running and ready. Pods are bound by the scheduler, so set `controllers` as well. Default: 0.
   */
  hollowNodes?: number;
  /** Receives the logs of all components; any pino logger fits. Default: logs are discarded. */
  log?: Logger;
}

/** A running API server, with the components that {@link ClusterOptions} asked for. */
export interface Cluster {
  /** For example `https://127.0.0.1:40123`. */
  readonly url: string;
  /** Path of a kubeconfig with administrator rights, for kubectl and for programs under test. */
  readonly kubeconfig: string;
  /** The same credentials, for clients in this process. */
  readonly config: ClusterConfig;
  /** A client with administrator rights. `stop` closes it. */
  readonly client: KubeClient;
  /** A client that impersonates a user, to test RBAC rules. `stop` closes it. */
  clientAs(impersonate: Impersonation): KubeClient;
  /**
   * Applies objects, or a YAML text with one or more documents, with server-side apply and in the given order.
   * Resolves to the objects as stored. Each CustomResourceDefinition is established before the next object is
   * applied, so a definition and its objects can be in one text.
   */
  apply(manifests: string | readonly KubeObject[]): Promise<KubeObject[]>;
  /** Stops everything in reverse order and deletes the temporary data directory. Safe to call twice. */
  stop(): Promise<void>;
}

/** Addresses of pods; hollow nodes do not use them. */
const CLUSTER_CIDR = '10.244.0.0/16';
const NODE_GRACE_MS = 40_000;
/** Nothing listens there: hollow nodes have no logs and no exec. */
const KUBELET_PORT = 10_250;

/**
 * Starts an API server in this process and returns once it serves requests.
 *
 * @example
 * ```ts
 * const cluster = await startCluster();
 * try {
 *   await cluster.apply(`
 *     apiVersion: v1
 *     kind: ConfigMap
 *     metadata: { name: settings, namespace: default }
 *     data: { color: blue }
 *   `);
 *   const settings = await cluster.client.get(CONFIG_MAPS, { namespace: 'default', name: 'settings' });
 * } finally {
 *   await cluster.stop();
 * }
 * ```
 *
 * @example A Deployment that becomes available
 * ```ts
 * const cluster = await startCluster({ controllers: true, hollowNodes: 3 });
 * ```
 */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { log = silentLogger, port = 0 } = options;
  const closers: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const close of closers.splice(0).reverse()) await close();
  };
  try {
    const directory = options.directory ?? (await mkdtemp(join(tmpdir(), 'envtest-')));
    if (options.directory === undefined) {
      closers.push(() => rm(directory, { recursive: true, force: true }));
    }
    const server = await startApiServer({
      directory,
      port,
      log,
      version: 'envtest',
      podMetrics: options.controllers === true,
    });
    closers.push(() => server.close());
    const kubeconfig = join(directory, 'kubeconfig');
    server.writeAdminKubeconfig(kubeconfig, 'envtest');
    // An empty environment: variables such as HTTPS_PROXY of the shell that runs the tests must not matter here.
    const config = await loadConfig({ path: kubeconfig, env: {} });
    const open = (clientConfig: ClusterConfig): KubeClient => {
      const client = new KubeClient(clientConfig);
      closers.push(() => client.close());
      return client;
    };
    const client = open(config);
    if (options.controllers === true) closers.push(await startControllers(open(config), log));
    if (options.hollowNodes) closers.push(await startNodes(open(config), options.hollowNodes, log));
    return {
      url: server.url,
      kubeconfig,
      config,
      client,
      clientAs: (impersonate) => open({ ...config, impersonate }),
      apply: (manifests) => applyManifests(client, manifests),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Resolves when the caches of the controllers are filled. The import is dynamic because most tests do without. */
async function startControllers(client: KubeClient, log: Logger): Promise<() => Promise<void>> {
  const { runControllers } = await import('./controllers/index.ts');
  const stopping = new AbortController();
  let running = Promise.resolve();
  const synced = new Promise<void>((onSynced) => {
    running = runControllers({
      client,
      log,
      metrics: new Metrics(),
      clusterCidr: CLUSTER_CIDR,
      nodeGraceMs: NODE_GRACE_MS,
      signal: stopping.signal,
      onSynced,
    });
  });
  // Controllers that fail to start reject here, instead of leaving the caller to wait.
  await Promise.race([synced, running]);
  return async () => {
    stopping.abort();
    await running;
  };
}

async function startNodes(client: KubeClient, count: number, log: Logger): Promise<() => Promise<void>> {
  const { startHollowNodes } = await import('./node/index.ts');
  const { major, minor, patch } = KUBERNETES_VERSION;
  const nodes = await startHollowNodes({
    name: 'node',
    count,
    client,
    labels: {},
    kubeletPort: KUBELET_PORT,
    kubernetesVersion: `v${major}.${minor}.${patch}`,
    version: 'envtest',
    clock: systemClock,
    log,
  });
  return () => nodes.close();
}
